"""The catalog: what is asked often, kept beside the object store and made anew whenever it does not fit."""
