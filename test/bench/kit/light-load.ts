/** Load by wrk and an upstream by nginx, which leave most of the machine to what stands between them. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';

const wrk = '/usr/bin/wrk';
const nginx = '/usr/sbin/nginx';
export const hasLightLoad = existsSync(wrk) && existsSync(nginx);

/** Answers every request with 1 KB of JSON. */
export const startLightUpstream = async (): Promise<{ url: string; close: () => Promise<void> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-nginx-'));
  const port = await freePort();
  const body = JSON.stringify({ success: true, items: 'x'.repeat(990) });
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  server {
    listen 127.0.0.1:${port};
    default_type application/json;
    location / { return 200 '${body}'; }
  }
}
`,
  );
  const child = spawn(nginx, ['-p', folder, '-c', 'nginx.conf'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    const answer = await fetch(url).catch(() => undefined);
    return answer?.status === 200;
  });
  return {
    url,
    close: async () => {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
};

type Load = { url: string; path: string; headers: Record<string, string>; ms: number; connections: number };

/** As many requests as go, one at a time on each connection. */
export const runLightLoad = async ({
  url,
  path,
  headers,
  ms,
  connections,
}: Load): Promise<{ requests: number; failures: number; ms: number }> => {
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const { stdout } = await promisify(execFile)(wrk, [
    ...['-t', '1', '-c', String(connections), '-d', `${Math.ceil(ms / 1000)}s`, ...named],
    new URL(path, url).href,
  ]);
  const figure = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0);
  const seconds = figure(/requests in ([\d.]+)s/);
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)?.slice(1) ?? [];
  return {
    requests: figure(/(\d+) requests in/),
    failures: figure(/Non-2xx or 3xx responses: (\d+)/) + broken.reduce((sum, count) => sum + Number(count), 0),
    ms: seconds * 1000,
  };
};
