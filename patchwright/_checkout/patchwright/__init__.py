"""What an editable install imports: the checkout's package `patchwright`, and nothing else of the checkout.

The folder above is on the path instead of the checkout itself, so that `tools` or `agent` cannot be
imported from a development environment by a project whose tests happen to run in it.
"""

from os.path import dirname

__path__ = [dirname(dirname(dirname(__file__)))]

from patchwright.version import VERSION as __version__

__all__ = ["__version__"]


def __getattr__(name: str) -> object:
    from patchwright.exports import load_name

    return load_name(name)
