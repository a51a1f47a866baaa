"""Things to try with kubeloop: manifests, and operators written on its runtime."""
