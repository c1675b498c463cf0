/** Asks an address of an upstream whether it works, over a connection of its own. */
import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { Address } from './address.ts';

/**
 * `connect`: it accepts a connection. `answer`: it answers a request, with any status; HEAD of `/`, which every service
 * answers somehow. `check`: it answers GET of the path with a status from 200 to 399.
 */
export type Probe = { kind: 'connect' } | { kind: 'answer' } | { kind: 'check'; path: string };

/** Never rejects. False: it failed, it took longer, or `signal` was aborted. */
export const probeAddress = (
  address: Pick<Address, 'open' | 'host'>,
  probe: Probe,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> =>
  new Promise((resolve) => {
    let opened: Socket | undefined;
    let isOver = false;
    const finish = (works: boolean): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      opened?.destroy();
      resolve(works);
    };
    const giveUp = (): void => finish(false);
    const timer = setTimeout(giveUp, timeoutMs);
    signal.addEventListener('abort', giveUp, { once: true });
    address.open().then((socket) => {
      opened = socket;
      if (isOver) socket.destroy();
      else if (probe.kind === 'connect') finish(true);
      else ask(socket, probe, address.host).then(finish, giveUp);
    }, giveUp);
  });

const ask = (socket: Socket, probe: Exclude<Probe, { kind: 'connect' }>, host: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const asked = request({
      method: probe.kind === 'check' ? 'GET' : 'HEAD',
      path: probe.kind === 'check' ? probe.path : '/',
      headers: { host, connection: 'close', 'user-agent': 'orderpass-health' },
      createConnection: () => socket,
    });
    asked.once('response', ({ statusCode = 0 }) =>
      resolve(probe.kind === 'answer' || (statusCode >= 200 && statusCode < 400)),
    );
    asked.on('error', reject);
    asked.end();
  });
