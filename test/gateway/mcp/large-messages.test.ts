/** Large messages that are sent slowly. Each asks for 100 Continue, which shows that the gateway reads it. */
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/until.ts';
import type { Headers } from '../harness/public-door.ts';
import { jsonType, listMessage, openMcpDoor, post } from './mcp-door.ts';

type Slow = { socket: Socket; received: string };

/** Each sends its end when it is asked to, and nothing before. */
const sendHeads = (port: number, headers: Headers, count: number, bytes: number): Slow[] =>
  Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    const slow = { socket, received: '' };
    socket.setEncoding('utf8').on('data', (text: string) => {
      slow.received += text;
    });
    const fields = { host: 'api.example', ...jsonType, ...headers, 'content-length': bytes, expect: '100-continue' };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n`);
    return slow;
  });

const invited = (all: readonly Slow[]): Slow[] => all.filter(({ received }) => received.includes(' 100 Continue'));

test('A-831 four large messages of one caller are read at a time; the others wait, those of another caller do not', async () => {
  const door = await openMcpDoor();
  onTestFinished(() => door.closeAll());
  const large = JSON.stringify({ ...listMessage, params: { _meta: { filling: 'x'.repeat(300 * 1024) } } });
  expect((await post(door.url, door.asKey, large)).status).toBe(200);
  const slow = sendHeads(door.port, door.asKey, 12, large.length);
  await until(() => invited(slow).length >= 4);
  // Another caller with a large message, and the same one with a small message, wait for none of them.
  expect((await post(door.url, door.asClient, large)).status).toBe(200);
  expect((await post(door.url, door.asKey, listMessage)).status).toBe(200);
  expect(invited(slow)).toHaveLength(4);
  const ended = new Set<Slow>();
  while (ended.size < slow.length) {
    await until(() => invited(slow).length === Math.min(slow.length, ended.size + 4));
    const next = invited(slow).find((one) => !ended.has(one));
    if (next === undefined) throw new Error('no message is read');
    ended.add(next);
    // One client leaves in the middle of its message, which makes room as its end does.
    if (ended.size === 2) next.socket.destroy();
    else next.socket.write(large);
  }
  const answered = (): Slow[] => slow.filter(({ received }) => received.includes('HTTP/1.1 200 OK'));
  await until(() => answered().length === slow.length - 1);
});

test('A-831 a message that says that it is too long is 413 at once while others wait', async () => {
  const door = await openMcpDoor();
  onTestFinished(() => door.closeAll());
  const slow = sendHeads(door.port, door.asKey, 6, 1024 * 1024);
  await until(() => invited(slow).length >= 4);
  const [long] = sendHeads(door.port, door.asKey, 1, 1024 * 1024 + 1);
  await until(() => long?.received.includes('HTTP/1.1 413') === true);
  expect(invited(slow)).toHaveLength(4);
});
