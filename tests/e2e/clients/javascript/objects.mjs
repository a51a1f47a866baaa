// Objects of any kind, also those that the client knows nothing of: KubernetesObjectApi and CustomObjectsApi.
import { readFileSync } from 'node:fs';
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace, refusal } from './setting.mjs';

const api = k8s.KubernetesObjectApi.makeApiClient(config);
const customs = config.makeApiClient(k8s.CustomObjectsApi);
const manifests = k8s.loadAllYaml(readFileSync(process.argv[2], 'utf8'));

const created = [];
for (const manifest of manifests) {
  manifest.metadata.namespace = namespace;
  const obj = await api.create(manifest);
  created.push(`${obj.kind}/${obj.metadata.name}`);
}
const cache = { apiVersion: 'cache.example.com/v1', kind: 'Cache', metadata: { name: 'sessions', namespace } };
const made = await api.create({ ...cache, spec: { size: 3 } });
const merged = await api.patch({ ...cache, spec: { size: 4 } }, undefined, undefined, undefined, undefined, k8s.PatchStrategy.MergePatch);
const applied = await api.patch(
  { ...cache, spec: { policy: 'LFU' } }, undefined, undefined, 'bob', true, k8s.PatchStrategy.ServerSideApply,
);
const read = await api.read(cache);
const replaced = await api.replace({ ...read, spec: { size: 7 } });
const listed = await api.list('cache.example.com/v1', 'Cache', namespace);
const address = { group: 'cache.example.com', version: 'v1', namespace, plural: 'caches' };
const status = await customs.patchNamespacedCustomObjectStatus(
  { ...address, name: 'sessions', body: { status: { size: 7 } } },
  k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch),
);
const wrong = await refusal(() => api.create({ ...cache, metadata: { name: 'wrong', namespace }, spec: { size: 0 } }));
for (const manifest of manifests) await api.delete(manifest);
await api.delete(cache);
const gone = await refusal(() => api.read(cache));

answer({
  created,
  specs: [made, merged, applied, replaced].map((obj) => obj.spec),
  listed: listed.items.map((obj) => obj.metadata.name),
  status: status.status,
  errors: [wrong.code, gone.code],
});
