/**
 * node:cluster hands a connection to a process and waits for its confirmation, which the process sends before it reads from the
 * connection. When the process dies without one, node:cluster forgets the connection and its client waits for ever. Here such
 * a connection counts as refused, so node:cluster hands it to the next process.
 *
 * It leans on parts of node:cluster that are not documented; test/platform/parity/node-cluster.test.ts holds them:
 * - `{ act: 'newconn', seq }` goes to a process with the handle, and `{ cmd: 'NODE_CLUSTER', ack: seq, accepted }` comes back;
 * - `disconnect`, once, makes node:cluster forget the process.
 */
import type { ChildProcess } from 'node:child_process';

type Handle = { close(): void };

type ClusterMessage = { act?: unknown; seq?: unknown; ack?: unknown };

/** Call it directly after the fork. `hasOthers`: another process may take the connection; without one it is closed. */
export const handOverLostConnections = (child: ChildProcess, hasOthers: () => boolean): void => {
  // A process that could not be made, since no file can be opened, has no channel to send by (`send` is undefined).
  if (child.pid === undefined) return;
  const handed = new Map<unknown, Handle>();
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  child.send = (message: unknown, ...rest: unknown[]) => {
    const { act, seq } = message as ClusterMessage;
    const [handle] = rest;
    if (act === 'newconn' && isHandle(handle)) handed.set(seq, handle);
    return send(message, ...rest);
  };
  child.on('internalMessage', (message: ClusterMessage) => handed.delete(message.ack));
  child.once('disconnect', () => {
    for (const [seq, handle] of [...handed])
      if (hasOthers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false });
      else handle.close();
    handed.clear();
  });
  let isOver = false;
  child.once('disconnect', () => {
    isOver = true;
  });
  // Node delays `disconnect` until the process has acknowledged the handle, and so never emits it for a killed one.
  child.once('exit', () => setTimeout(() => isOver || child.emit('disconnect'), lastMessagesMs));
};

/** A confirmation that was sent before the exit is read within this time. */
const lastMessagesMs = 50;

const isHandle = (value: unknown): value is Handle =>
  typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
