print("entitled")
