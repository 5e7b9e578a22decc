"""The studio: the viewer in a browser, with a model behind it, for the person at this computer and nobody else."""

from vitrail.serve.guard import Guard
from vitrail.serve.listen import listen, serve
from vitrail.serve.shelf import Shelf
from vitrail.serve.studio import studio

__all__ = ["Guard", "Shelf", "listen", "serve", "studio"]
