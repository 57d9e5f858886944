"""The wheel is for any Python 3, and for systems with glibc 2.34 or later on this processor."""
import platform

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    """It has programs, and no module of Python's that is compiled."""

    def get_tag(self):
        return "py3", "none", f"manylinux_2_34_{platform.machine()}"


class HasPrograms(Distribution):
    """Not pure: pip puts it where what belongs to a platform goes."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"bdist_wheel": PlatformWheel}, distclass=HasPrograms)
