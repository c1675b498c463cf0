/** Connections to receivers that wait for the next delivery. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createConnections } from '#src/webhooks/send/connections.ts';
import { post } from '#src/webhooks/send/post.ts';
import { createTimeLimits } from '#src/webhooks/send/time-limits.ts';

const timeoutMs = 60_000;

test('2,048 idle connections are kept, and with one more the one that was not used for longest is closed', async () => {
  let opened = 0;
  const receiver = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(204).end());
  });
  receiver.keepAliveTimeout = 10 * timeoutMs;
  receiver.on('connection', () => {
    opened += 1;
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const connections = createConnections(timeoutMs);
  onTestFinished(async () => {
    await connections.close();
    receiver.closeAllConnections();
    receiver.close();
  });
  const beginLimit = createTimeLimits(timeoutMs);
  const { signal } = new AbortController();
  /** Returns whether a connection was opened for it. */
  const send = async (name: string): Promise<boolean> => {
    const before = opened;
    const limit = beginLimit(signal);
    const connection = connections.take(`http://${name}.example:${port}`, ['127.0.0.1']);
    const { status, reusable } = await post(connection, { ...delivery, limit, startedMs: performance.now() });
    limit.close();
    connections.release(connection, reusable);
    expect(status).toBe(204);
    return opened > before;
  };
  for (let receiverNumber = 0; receiverNumber < 2_048; receiverNumber += 1) await send(`r${receiverNumber}`);
  expect([opened, await send('r0'), await send('r1')]).toEqual([2_048, false, false]);
  expect(await send('another')).toBe(true);
  expect([await send('r0'), await send('r1'), await send('r3')]).toEqual([false, false, false]);
  expect(await send('r2')).toBe(true);
});

const delivery = { path: '/', headers: { 'content-type': 'application/json' }, body: '{}' };
