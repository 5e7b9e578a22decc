"""What is wrong or wasteful in a recipe or a run: every check looks at the user's own data and says what to change."""

from vitrail.doctor.case import Case, Finding
from vitrail.doctor.checks import PROBES, STATIC, examine

__all__ = ["PROBES", "STATIC", "Case", "Finding", "examine"]
