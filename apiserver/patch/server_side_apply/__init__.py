"""Who owns which field of an object, and what applying a configuration makes of it: structured merge, all pure.

`apiserver/registry/field_management.py` is the only caller. Reading order: `field_sets` (sets of paths), `shapes` (how
ownership sees a type), `ownership` and `comparison` (paths of values), `merging` and `removal` (values), `managers`
(the entries of metadata.managedFields), and on top of them `tracking` for updates and `applying` for apply patches.

The algorithms are those of sigs.k8s.io/structured-merge-diff v6 and of
k8s.io/apimachinery/pkg/util/managedfields (Kubernetes v1.36).
"""
