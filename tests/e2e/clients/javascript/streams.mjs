// Into a pod, once it runs: exec with its streams and its end, logs at once and followed, a forwarded port.
import { get } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as k8s from '@kubernetes/client-node';
import { answer, config, namespace } from './setting.mjs';

const core = config.makeApiClient(k8s.CoreV1Api);
const pod = process.argv[2];

async function exec(command, stdin = null) {
  const out = new PassThrough();
  const err = new PassThrough();
  const status = await new Promise((resolve, reject) => {
    new k8s.Exec(config).exec(namespace, pod, 'web', command, out, err, stdin, false, resolve).catch(reject);
  });
  out.end();
  err.end();
  const exitCode = status.details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message ?? '0';
  return [await text(out), await text(err), status.status, exitCode];
}

async function followed(lines) {
  const stream = new PassThrough();
  await new k8s.Log(config).log(namespace, pod, 'web', stream, { follow: true });
  let seen = '';
  for await (const chunk of stream) {
    seen += chunk;
    if (seen.split('\n').length > lines) break;
  }
  return seen.split('\n').slice(0, lines);
}

async function page() {
  const forward = new k8s.PortForward(config);
  const server = createTcpServer((socket) => forward.portForward(namespace, pod, [80], socket, null, socket));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const body = await new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, (response) => resolve(text(response))).on('error', reject);
  });
  server.close();
  return body;
}

answer({
  hello: await exec(['sh', '-c', 'echo hello; echo oops >&2']),
  input: await exec(['cat'], Readable.from(['typed\n'])),
  failed: await exec(['sh', '-c', 'exit 3']),
  log: await core.readNamespacedPodLog({ namespace, name: pod, container: 'web', tailLines: 1 }),
  followed: await followed(2),
  page: (await page()).includes(pod),
});
process.exit(0); // the log is still followed
