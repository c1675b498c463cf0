/** Opens a connection to an upstream for a request that keeps it (WebSocket): tries each address until one accepts. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { upstreamOut, upstreamUnreachable } from '../model/faults.ts';
import { noteFailure } from './address-health.ts';
import { type Address, type Choice, chooseAddress, secondsUntilTrial, type Upstream } from './upstreams.ts';

export type Connection = { socket: Socket; choice: Choice };

/** Rejects with OVERLOADED when every address is out, with UPSTREAM_UNREACHABLE when none accepts the connection. */
export const connectToUpstream = async (upstream: Upstream): Promise<Connection> => {
  const failed: Address[] = [];
  let cause: unknown;
  for (;;) {
    const nowMs = performance.now();
    const choice = chooseAddress(upstream, nowMs, { mayRepeat: true, without: failed });
    if (choice === undefined) {
      throw failed.length > 0
        ? upstreamUnreachable(cause)
        : upstreamOut(upstream.name, secondsUntilTrial(upstream, nowMs));
    }
    try {
      return { socket: await open(choice.address, upstream.connectTimeoutMs), choice };
    } catch (error) {
      cause = error;
      failed.push(choice.address);
      noteFailure(choice.address.health, choice.trial, performance.now(), upstream.bounds);
    }
  }
};

const open = ({ origin }: Address, timeoutMs: number): Promise<Socket> => {
  const url = new URL(origin);
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return new Promise((resolve, reject) => {
    const socket = secure
      ? connectTls({ host, port, servername: host, ALPNProtocols: ['http/1.1'] })
      : connect({ host, port });
    const timer = setTimeout(() => socket.destroy(new Error('the connection was not opened in time')), timeoutMs);
    const onError = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once('error', onError);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', onError);
      resolve(socket);
    });
  });
};
