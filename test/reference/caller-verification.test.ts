/** The code of /docs/callers, run unchanged where its language is installed, on tokens of a gateway and on changed ones. */
import { execFile, execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { snippetTabs } from '#src/app/reference/guide/content/snippets.ts';
import { renderMarkdown } from '#src/app/reference/guide/markdown/render-markdown.ts';
import { createIdentityTokens } from '#src/gateway/access/identity/identity-token.ts';
import { closeServer, listen } from '../gateway/harness/public-door.ts';
import { root } from '../support/program.ts';

const snippets = join(root, 'src/app/reference/snippets/caller');
const issuer = 'https://api.example';
const audience = 'https://pos.example';

let folder: string;
let server: Server;
let gateway: string;
let cases: [name: string, token: string, id: string][];

const caller = {
  ...{ kind: 'bearer' as const, id: 'opc_1', tenants: ['rst_1'], tenants_disabled: [], scopes: ['read:orders'] },
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-caller-'));
  const [key, other] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  if (key === undefined || other === undefined) throw new Error('no keys');
  const jwk = { ...(await exportJWK(key.publicKey)), kid: 'one', use: 'sig', alg: 'ES256' };
  server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [jwk] }));
  });
  gateway = await listen(server);
  const tokenOf = (
    named: { issuer?: string; audience?: string; agoMs?: number; privateKey?: KeyObject } = {},
  ): string => {
    const { agoMs = 0, privateKey = key.privateKey, ...others } = named;
    return createIdentityTokens({
      ...{ issuer, audience, ...others },
      currentKey: () => ({ kid: 'one', privateKey, publicKey: key.publicKey }),
      now: () => Date.now() - agoMs,
    })(caller);
  };
  const good = tokenOf();
  const [header, claims, signature] = good.split('.');
  const widened = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString()) as object;
  const forged = Buffer.from(JSON.stringify({ ...widened, sub: 'opc_2' })).toString('base64url');
  const unsigned = Buffer.from('{"alg":"none","typ":"orderpass-identity+jwt","kid":"one"}').toString('base64url');
  const accessToken = await new SignJWT({ scope: 'read:orders', client_id: 'opc_1' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject('opc_1')
    .setExpirationTime('1m')
    .sign(key.privateKey);
  cases = [
    ['a fresh token', good, 'opc_1'],
    ['another audience', tokenOf({ audience: 'https://other.example' }), ''],
    ['another issuer', tokenOf({ issuer: 'https://other.example' }), ''],
    ['a key that is not published', tokenOf({ privateKey: other.privateKey }), ''],
    ['an old token', tokenOf({ agoMs: 120_000 }), ''],
    ['an access token', accessToken, ''],
    ['changed claims', `${header}.${forged}.${signature}`, ''],
    ['no algorithm', `${unsigned}.${claims}.`, ''],
    ['no signature', `${header}.${claims}.`, ''],
    ['no token', 'hello', ''],
  ];
});

afterAll(async () => {
  await closeServer(server);
  rmSync(folder, { recursive: true, force: true });
});

/** A program that prints the id of the caller for each token of its arguments, or an empty line. */
const checkAll = (command: string, args: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, GATEWAY: gateway, ISSUER: issuer, AUDIENCE: audience };
    const tokens = cases.map(([, token]) => token);
    execFile(command, [...args, ...tokens], { cwd: folder, env, timeout: 200_000 }, (error, stdout, stderr) => {
      if (error !== null) return reject(new Error(`${command}: ${stderr}`));
      const ids = stdout.split('\n').slice(0, cases.length);
      try {
        expect(cases.map(([name], index) => [name, ids[index]])).toEqual(cases.map(([name, , id]) => [name, id]));
        resolve();
      } catch (failure) {
        reject(failure);
      }
    });
  });

/** Reports a program that is missing. */
const isInstalled = (command: string, args: readonly string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`caller-verification: ${command} ${args.join(' ')} failed, its code was not run\n`);
    return false;
  }
};

test('A-197 the code for Node takes a fresh token of the gateway and refuses every other', async () => {
  const driver = join(folder, 'driver.mjs');
  writeFileSync(
    driver,
    `const { createReadCaller } = await import(${JSON.stringify(join(snippets, 'caller.mjs'))});
const { GATEWAY, ISSUER, AUDIENCE } = process.env;
const readCaller = createReadCaller({ issuer: ISSUER, audience: AUDIENCE, jwks: GATEWAY + '/api/oauth/jwks' });
for (const token of process.argv.slice(2)) console.log(await readCaller(token).then(({ sub }) => sub, () => ''));`,
  );
  await checkAll(process.execPath, [driver]);
});

/** Debian's packages are those of its own interpreter, which need not be the first in PATH. */
const python = ['python3', '/usr/bin/python3'].find((each) => isInstalled(each, ['-c', 'import jwt, cryptography']));

test.skipIf(python === undefined)('A-197 the code for Python does the same', async () => {
  copyFileSync(join(snippets, 'caller.py'), join(folder, 'caller.py'));
  writeFileSync(
    join(folder, 'driver.py'),
    `import os, sys, jwt
from caller import read_caller
for token in sys.argv[1:]:
    try:
        print(read_caller(token, os.environ["AUDIENCE"])["sub"])
    except jwt.PyJWTError:
        print("")
`,
  );
  await checkAll(python ?? '', ['-B', 'driver.py']);
});

test.skipIf(!isInstalled('go', ['version']))('A-197 the code for Go does the same', async () => {
  copyFileSync(join(snippets, 'caller.go'), join(folder, 'caller.go'));
  writeFileSync(join(folder, 'go.mod'), 'module service\n\ngo 1.19\n');
  writeFileSync(
    join(folder, 'main.go'),
    `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	keys, err := fetchKeys(os.Getenv("GATEWAY"))
	if err != nil {
		panic(err)
	}
	for _, token := range os.Args[1:] {
		caller, err := readCaller(token, os.Getenv("ISSUER"), os.Getenv("AUDIENCE"), keys, time.Now())
		if err != nil {
			fmt.Println("")
			continue
		}
		fmt.Println(caller.ID)
	}
}
`,
  );
  execFileSync('go', ['build', '-o', 'service', '.'], { cwd: folder });
  await checkAll(join(folder, 'service'), []);
});

test.skipIf(!isInstalled('javac', ['-version']))('A-197 the code for Java does the same', async () => {
  copyFileSync(join(snippets, 'Caller.java'), join(folder, 'Caller.java'));
  writeFileSync(
    join(folder, 'Main.java'),
    `public class Main {
  public static void main(String[] tokens) throws Exception {
    var keys = Caller.fetchKeys(System.getenv("GATEWAY"));
    for (String token : tokens) {
      try {
        long now = System.currentTimeMillis() / 1000;
        System.out.println(Caller.read(token, System.getenv("ISSUER"), System.getenv("AUDIENCE"), keys, now).id);
      } catch (java.security.GeneralSecurityException error) {
        System.out.println("");
      }
    }
  }
}
`,
  );
  execFileSync('javac', ['Caller.java', 'Main.java'], { cwd: folder });
  await checkAll('java', ['-cp', folder, 'Main']);
});

test('A-197 the page shows exactly the code that was run', () => {
  const page = renderMarkdown(snippetTabs('caller'))
    .html.replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
  for (const file of ['caller.mjs', 'caller.py', 'caller.go', 'Caller.java'])
    expect(page).toContain(readFileSync(join(snippets, file), 'utf8').trimEnd());
});
