"""Settings: typed sections, presets, TOML in and out."""

from vitrail.config.checks import SettingError, setting_error
from vitrail.config.positions import POSITIONS, PositionKind
from vitrail.config.presets import PRESETS
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
    "FORMAT",
    "POSITIONS",
    "PRESETS",
    "Config",
    "CorpusConfig",
    "DataConfig",
    "DecodeConfig",
    "ModelConfig",
    "PositionKind",
    "ProbeConfig",
    "SettingError",
    "TrainConfig",
    "dump_config",
    "load_config",
    "parse_config",
    "read_toml",
    "setting_error",
]
