"""The built-in phrasebook: a small French and English grammar that generates sentence pairs."""

from vitrail.data.phrasebook.split import LONGEST, Example, held_out, longer, pronoun_is_right, training_pairs

__all__ = ["LONGEST", "Example", "held_out", "longer", "pronoun_is_right", "training_pairs"]
