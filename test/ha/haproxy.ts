/** HAProxy in front of gateways, as config/README.md advises: it asks `/readyz` of each and repeats nothing by itself. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const command = '/usr/sbin/haproxy';
export const hasHaproxy = existsSync(command);

export type LoadBalancer = {
  url: string;
  /** How many gateways get requests now. */
  upCount(): Promise<number>;
  close(): Promise<void>;
};

/** Starts HAProxy in the foreground with this configuration. */
export const runHaproxy = (configuration: string): { close(): Promise<void> } => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-fleet-'));
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration);
  const child = spawn(command, ['-q', '-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return {
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
};

/** `gateways`: host and port of each. */
export const startHaproxy = async (gateways: readonly string[]): Promise<LoadBalancer> => {
  const [port, statsPort] = [await freePort(), await freePort()];
  const servers = gateways.map(
    (address, index) => `  server gateway-${index + 1} ${address} check inter 300ms fall 3 rise 2`,
  );
  const { close } = runHaproxy(`global
  maxconn 2000
defaults
  mode http
  timeout connect 5s
  timeout client 120s
  timeout server 120s
  timeout check 5s
  retries 0
frontend stats
  bind 127.0.0.1:${statsPort}
  stats enable
  stats uri /
frontend door
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  option httpchk GET /readyz
${servers.join('\n')}
`);
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200);
  return {
    url,
    upCount: async () => {
      const rows = await (await fetch(`http://127.0.0.1:${statsPort}/;csv`)).text();
      return rows.split('\n').filter((row) => row.startsWith('gateways,gateway-') && row.split(',')[17] === 'UP')
        .length;
    },
    close,
  };
};
