raise RuntimeError("this file cannot be loaded")
