/** HAProxy in front of the nodes of PostgreSQL: one port that leads to the primary, by what the Patroni of each node answers. */
import { freePort } from '../../support/free-port.ts';
import { runHaproxy } from '../haproxy.ts';
import type { NodeAddress } from './patroni-config.ts';

export type PrimaryBalancer = { port: number; close(): Promise<void> };

/**
 * Connections to a node end when its check fails. Otherwise those to a former primary would stay open. A node that is frozen
 * answers no check, so that the check itself needs a limit.
 */
export const startPrimaryBalancer = async (nodes: readonly NodeAddress[]): Promise<PrimaryBalancer> => {
  const port = await freePort();
  const servers = nodes.map(
    ({ name, port: own, restPort }) => `  server ${name} 127.0.0.1:${own} check port ${restPort}`,
  );
  const { close } = runHaproxy(`global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 2s
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`);
  return { port, close };
};
