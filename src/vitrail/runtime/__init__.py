"""The same weights arranged for inference. Dimension key: vitrail/model/__init__.py."""
