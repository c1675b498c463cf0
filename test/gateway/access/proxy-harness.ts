/** Starts nginx, Caddy and HAProxy with the files of config/, their addresses replaced. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { sendRequest } from '../harness/public-door.ts';

/** `host:port` of the gateway and of the service. */
type Addresses = { orderpass: string; service: string };

type ProxyKind = {
  title: string;
  program: string;
  /** Writes the files of the proxy into the folder; gives its arguments. */
  configure: (folder: string, text: (file: string) => string) => string[];
};

export type CarryingProxy = { url: string; port: number; stop: () => Promise<void> };

const nginx: ProxyKind = {
  title: 'nginx with config/nginx-auth-request.conf',
  program: '/usr/sbin/nginx',
  configure: (folder, text) => {
    writeFileSync(join(folder, 'site.conf'), text('nginx-auth-request.conf'));
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; pid ${folder}/nginx.pid; events { worker_connections 64; }
       http { access_log off; error_log ${folder}/error.log; ${paths.join(' ')} include ${folder}/site.conf; }`,
    );
    return ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')];
  },
};

const caddy: ProxyKind = {
  title: 'Caddy with config/caddy-forward-auth.caddyfile',
  program: '/usr/bin/caddy',
  configure: (folder, text) => {
    const own = '{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel PANIC\n\t}\n}\n';
    writeFileSync(join(folder, 'Caddyfile'), own + text('caddy-forward-auth.caddyfile'));
    return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  },
};

const haproxy: ProxyKind = {
  title: 'HAProxy with config/haproxy-auth.cfg',
  program: '/usr/sbin/haproxy',
  configure: (folder, text) => {
    writeFileSync(join(folder, 'haproxy-auth.lua'), text('haproxy-auth.lua'));
    writeFileSync(
      join(folder, 'haproxy.cfg'),
      text('haproxy-auth.cfg').replace('/etc/haproxy/haproxy-auth.lua', join(folder, 'haproxy-auth.lua')),
    );
    return ['-db', '-q', '-f', join(folder, 'haproxy.cfg')];
  },
};

const withPresence = (kind: ProxyKind, debianPackage: string) => {
  const present = existsSync(kind.program);
  if (!present)
    process.stderr.write(`skipped: ${kind.program} is not installed (Debian: apt-get install ${debianPackage})\n`);
  return { ...kind, present };
};

export const proxies = [
  withPresence(nginx, 'nginx-light'),
  withPresence(caddy, 'caddy'),
  withPresence(haproxy, 'haproxy'),
];

export const startProxy = async (kind: ProxyKind, { orderpass, service }: Addresses): Promise<CarryingProxy> => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-proxy-'));
  const port = await freePort();
  const text = (file: string): string =>
    readFileSync(new URL(`../../../config/${file}`, import.meta.url), 'utf8')
      .replaceAll(/(?<=[ :])8000\b/g, String(port))
      .replaceAll('127.0.0.1:8080', orderpass)
      .replaceAll('127.0.0.1:8081', service);
  const child = spawn(kind.program, kind.configure(folder, text), {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Caddy keeps its state below the home of its user.
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${kind.program} ended with ${child.exitCode}: ${errors}`);
    return (await sendRequest(url, 'GET', '/').catch(() => undefined)) !== undefined;
  });
  return {
    url,
    port,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
};
