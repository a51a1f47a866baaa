// What every program here begins with: who it is, its namespace, and how it answers the test that runs it.
import * as k8s from '@kubernetes/client-node';

export const config = new k8s.KubeConfig();
config.loadFromDefault();

export const namespace = process.env.NAMESPACE;

export function answer(value) {
  console.log(JSON.stringify(value));
}

// The error that an action ends in; an error itself where there is none.
export async function refusal(action) {
  try {
    await action();
  } catch (error) {
    return error;
  }
  throw new Error('it was not refused');
}

export function web(name, replicas) {
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image: 'nginx', ports: [{ containerPort: 80 }] }] },
      },
    },
  };
}
