// Four sorts of patches, each by its content type, through the typed client.
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace, refusal, web } from './setting.mjs';

const { PatchStrategy, setHeaderOptions } = k8s;
const apps = config.makeApiClient(k8s.AppsV1Api);
const target = { namespace, name: 'patched' };

function patched(body, strategy, extra = {}) {
  return apps.patchNamespacedDeployment({ ...target, body, ...extra }, setHeaderOptions('Content-Type', strategy));
}

await apps.createNamespacedDeployment({ namespace, body: web('patched', 0) });
const strategic = await patched(
  { spec: { template: { spec: { containers: [{ name: 'log', image: 'busybox' }] } } } },
  PatchStrategy.StrategicMergePatch,
);
const merge = await patched({ metadata: { labels: { tier: 'front' } } }, PatchStrategy.MergePatch);
const json = await patched(
  [
    { op: 'test', path: '/spec/replicas', value: 0 },
    { op: 'replace', path: '/spec/replicas', value: 2 },
  ],
  PatchStrategy.JsonPatch,
);
const failed = await refusal(() =>
  patched([{ op: 'test', path: '/spec/replicas', value: 7 }], PatchStrategy.JsonPatch),
);
const configuration = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'patched' }, spec: { replicas: 5 } };
const conflict = await refusal(() =>
  patched(configuration, PatchStrategy.ServerSideApply, { fieldManager: 'alice' }),
);
const applied = await patched(configuration, PatchStrategy.ServerSideApply, { fieldManager: 'alice', force: true });
const dry = await patched({ spec: { replicas: 9 } }, PatchStrategy.MergePatch, { dryRun: 'All' });
const after = await apps.readNamespacedDeployment(target);

answer({
  strategic: strategic.spec.template.spec.containers.map((one) => one.name),
  merge: merge.metadata.labels,
  json: json.spec.replicas,
  failed: failed.code,
  conflict: [conflict.code, JSON.parse(conflict.body).details.causes.map((cause) => cause.field)],
  applied: [applied.spec.replicas, applied.metadata.managedFields.find((one) => one.manager === 'alice').operation],
  dry: [dry.spec.replicas, after.spec.replicas],
});
