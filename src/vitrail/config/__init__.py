"""Settings: typed sections, tables of what they may name, presets, TOML in and out."""

from vitrail.config.changes import change_settings
from vitrail.config.checks import SettingError, setting_error
from vitrail.config.kinds import (
    ACTIVATIONS,
    ENGINES,
    NORMS,
    OPTIMIZERS,
    PRECISIONS,
    TIES,
    VOCABULARIES,
    OptimizerKind,
    TieKind,
    VocabularyKind,
)
from vitrail.config.positions import POSITIONS, PositionKind
from vitrail.config.presets import PRESETS
from vitrail.config.schedules import SCHEDULES, ScheduleKind
from vitrail.config.sections import (
    Config,
    CorpusConfig,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    ProbeConfig,
    TrainConfig,
)
from vitrail.config.toml import FORMAT, dump_config, load_config, parse_config, read_toml

__all__ = [
    "ACTIVATIONS",
    "ENGINES",
    "FORMAT",
    "NORMS",
    "OPTIMIZERS",
    "POSITIONS",
    "PRECISIONS",
    "PRESETS",
    "SCHEDULES",
    "TIES",
    "VOCABULARIES",
    "Config",
    "CorpusConfig",
    "DataConfig",
    "DecodeConfig",
    "ModelConfig",
    "OptimizerKind",
    "PositionKind",
    "ProbeConfig",
    "ScheduleKind",
    "SettingError",
    "TieKind",
    "TrainConfig",
    "VocabularyKind",
    "change_settings",
    "dump_config",
    "load_config",
    "parse_config",
    "read_toml",
    "setting_error",
]
