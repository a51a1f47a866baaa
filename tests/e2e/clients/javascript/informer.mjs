// An informer that is started again whenever it fails, as its documentation says; it prints what it sees, line by line.
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace } from './setting.mjs';

const core = config.makeApiClient(k8s.CoreV1Api);
const labelSelector = 'watched=yes';
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const list = () => core.listNamespacedConfigMap({ namespace, labelSelector });
const informer = k8s.makeInformer(config, path, list, labelSelector);

for (const verb of ['add', 'update', 'delete']) {
  informer.on(verb, (obj) => answer([verb, obj.metadata.name, obj.data?.value ?? '']));
}
informer.on('error', () => {
  answer(['error']);
  setTimeout(() => informer.start(), 200);
});
await informer.start();
answer(['started', informer.list(namespace).map((obj) => obj.metadata.name)]);
