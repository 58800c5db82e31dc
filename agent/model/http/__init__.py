"""HTTP client, retries and error classification for model endpoints."""
