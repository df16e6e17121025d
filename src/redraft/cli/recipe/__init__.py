"""Recipes: the TOML files that `redraft compile` reads."""

from .load import load_recipe, recipe_from_table
from .schema import Recipe

__all__ = ["Recipe", "load_recipe", "recipe_from_table"]
