/** HAProxy in front of gateways, by `config/haproxy-gateways.cfg`. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { root } from '../support/program.ts';
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
  const example = readFileSync(join(root, 'config/haproxy-gateways.cfg'), 'utf8');
  const server = /^ {2}server gateway-1 \S+(.*)$/m.exec(example)?.[1] ?? '';
  const servers = gateways.map((address, index) => `  server gateway-${index + 1} ${address}${server}\n`);
  const { close } = runHaproxy(`${example
    .replace('bind :80\n', `bind 127.0.0.1:${port}\n`)
    .replaceAll(/^ {2}server .*\n/gm, '')}${servers.join('')}
frontend stats
  bind 127.0.0.1:${statsPort}
  stats enable
  stats uri /
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
