// The typed API: every verb, subresources, lists in pages, errors.
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace, refusal, web } from './setting.mjs';

const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);

const created = await apps.createNamespacedDeployment({ namespace, body: web('typed', 1) });
const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'typed' });
// Without the version that was read: controllers write too, and be it the status.
const metadata = { ...scale.metadata, resourceVersion: undefined };
await apps.replaceNamespacedDeploymentScale({ namespace, name: 'typed', body: { ...scale, metadata, spec: { replicas: 2 } } });
const scaled = await apps.readNamespacedDeployment({ namespace, name: 'typed' });
const stale = await refusal(() => apps.replaceNamespacedDeployment({ namespace, name: 'typed', body: created }));
const missing = await refusal(() => core.readNamespacedPod({ namespace, name: 'missing' }));
const wrong = await refusal(() =>
  core.createNamespacedService({ namespace, body: { metadata: { name: 'web' }, spec: { ports: [{ port: 70000 }] } } }),
);

const service = await core.createNamespacedService({
  namespace,
  body: { metadata: { name: 'typed' }, spec: { selector: { app: 'typed' }, ports: [{ port: 80, targetPort: 'http' }] } },
});
for (const name of ['a', 'b', 'c']) {
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { kept: 'no' } }, data: { name } } });
}
const labelSelector = 'kept=no';
const first = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: 2 });
const rest = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: 2, _continue: first.metadata._continue });
await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector });
const left = await core.listNamespacedConfigMap({ namespace, labelSelector });

const nodes = await core.listNode();
const token = await core.createNamespacedServiceAccountToken({
  namespace,
  name: 'default',
  body: { spec: { audiences: ['shop'], expirationSeconds: 600 } },
});
const who = await config.makeApiClient(k8s.AuthenticationV1Api).createSelfSubjectReview({ body: {} });
const groups = await config.makeApiClient(k8s.ApisApi).getAPIVersions();
const version = await config.makeApiClient(k8s.VersionApi).getCode();
await apps.deleteNamespacedDeployment({ namespace, name: 'typed', propagationPolicy: 'Foreground' });

answer({
  created: created.metadata.creationTimestamp instanceof Date,
  replicas: scaled.spec.replicas,
  errors: [stale, missing, wrong].map((error) => [error.code, JSON.parse(error.body).reason]),
  service: [service.spec.type, service.spec.ports[0].targetPort],
  pages: [first.items, rest.items, left.items].map((items) => items.length),
  ready: nodes.items.every((node) => node.status.conditions.some((one) => one.type === 'Ready' && one.status === 'True')),
  token: token.status.token.split('.').length,
  expires: token.status.expirationTimestamp instanceof Date,
  who: who.status.userInfo.groups,
  groups: groups.groups.map((group) => group.name),
  version: version.minor,
});
