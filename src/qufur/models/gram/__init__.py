"""The regularised Gram matrix M behind least squares, in forms that are fast or safe."""
