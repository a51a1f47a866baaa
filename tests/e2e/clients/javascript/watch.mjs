// A watch from a list's revision, with bookmarks asked for, until the test's object is gone.
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace } from './setting.mjs';

const core = config.makeApiClient(k8s.CoreV1Api);
const { metadata } = await core.listNamespacedConfigMap({ namespace });
const seen = [];
const ended = new Promise((resolve, reject) => {
  const options = { resourceVersion: metadata.resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 180 };
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const watch = new k8s.Watch(config).watch(
    path,
    options,
    async (type, obj) => {
      if (type === 'BOOKMARK') return;
      seen.push([type, obj.metadata.name, obj.data?.value ?? '']);
      if (type === 'DELETED') (await watch).abort();
    },
    (error) => (error && error.name !== 'AbortError' ? reject(error) : resolve()),
  );
});
await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'seen' }, data: { value: '1' } } });
await core.replaceNamespacedConfigMap({ namespace, name: 'seen', body: { metadata: { name: 'seen' }, data: { value: '2' } } });
await core.deleteNamespacedConfigMap({ namespace, name: 'seen' });
await ended;
answer(seen);
