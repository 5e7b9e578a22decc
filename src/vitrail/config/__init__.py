"""Settings: typed sections, presets, TOML in and out."""

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
    "PRESETS",
    "Config",
    "CorpusConfig",
    "DataConfig",
    "DecodeConfig",
    "ModelConfig",
    "ProbeConfig",
    "TrainConfig",
    "dump_config",
    "load_config",
    "parse_config",
    "read_toml",
]
