"""What `groupspec init` writes, a folder a language: files to fill in. skeletons.toml says what goes with them."""
