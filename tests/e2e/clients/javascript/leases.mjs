// A lease as elections use it: who comes first has it, who is late is refused, who takes over counts on.
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace, refusal } from './setting.mjs';

const api = config.makeApiClient(k8s.CoordinationV1Api);
const name = 'election';
const first = await api.createNamespacedLease({
  namespace,
  body: {
    metadata: { name },
    spec: { holderIdentity: 'alice', leaseDurationSeconds: 15, acquireTime: new k8s.V1MicroTime(), renewTime: new k8s.V1MicroTime() },
  },
});
const renewed = await api.replaceNamespacedLease({
  namespace, name, body: { ...first, spec: { ...first.spec, renewTime: new k8s.V1MicroTime() } },
});
const late = await refusal(() =>
  api.replaceNamespacedLease({ namespace, name, body: { ...first, spec: { ...first.spec, holderIdentity: 'bob' } } }),
);
const taken = await api.replaceNamespacedLease({
  namespace, name, body: { ...renewed, spec: { ...renewed.spec, holderIdentity: 'bob', leaseTransitions: 1 } },
});

answer({
  holders: [first, renewed, taken].map((lease) => lease.spec.holderIdentity),
  late: late.code,
  renewed: renewed.spec.renewTime >= first.spec.renewTime,
});
