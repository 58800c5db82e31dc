"""Models in GGUF files, served on this machine by llama.cpp's server, which is started when it is needed."""
