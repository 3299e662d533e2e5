"""vtc: texts as few latents of glyph images, restored exactly or read by a frozen language model.

Nothing is imported here, so that `import vtc` and the command line start at once; see `vtc.api`.
"""
