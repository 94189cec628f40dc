"""The list of packages, the one setting that pyproject.toml cannot hold.

The four folders are installed under other names than they have here (`spec` as `groupspec.spec`), and setuptools'
own discovery knows no such prefix. A list written by hand would be out of date with every new folder, and an install
that lacks a package says nothing until it is imported.
"""

from setuptools import find_packages, setup

FOLDERS = ("spec", "impl", "diagrams", "conformance")

setup(
    packages=[f"groupspec.{folder}" for folder in FOLDERS]
    + [f"groupspec.{folder}.{package}" for folder in FOLDERS for package in find_packages(folder)]
)
