//! What is on an installed disk for firmware and boot loaders to read.
