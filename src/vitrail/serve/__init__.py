"""The studio: the viewer in a browser with a live model behind it, for this computer's user only."""

from vitrail.serve.guard import Guard
from vitrail.serve.listen import listen, serve
from vitrail.serve.shelf import Shelf
from vitrail.serve.studio import studio

__all__ = ["Guard", "Shelf", "listen", "serve", "studio"]
