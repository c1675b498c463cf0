/** The program with TLS, a second address for clients with certificates, and what OAuth clients in other languages need. */
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { makeAuthority, type Pair } from '../../gateway/harness/make-certificate.ts';
import { startTls, type TlsStand } from '../../gateway/tls/tls-harness.ts';
import { runJson } from '../../support/program.ts';

export type OAuthStand = TlsStand & {
  /** Origin of `mtls_endpoint_aliases`, and the count of its connections. */
  mtlsOrigin: string;
  mtlsConnections(): number;
  newClient(name: string): Promise<{ id: string; secret: string }>;
  /** A client that authenticates by a certificate, and the files of another certificate. */
  bound: { id: string; cert: string; key: string };
  other: { cert: string; key: string };
};

/** Passes bytes on to a port, which `forwardTo` sets. */
const startForwarder = async () => {
  let target = 0;
  let connections = 0;
  const server = createServer((incoming) => {
    connections += 1;
    const outgoing = connect(target, '127.0.0.1');
    for (const socket of [incoming, outgoing])
      socket.on('error', () => undefined).once('close', () => void [incoming, outgoing].map((each) => each.destroy()));
    incoming.pipe(outgoing).pipe(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    server,
    port: (server.address() as AddressInfo).port,
    forwardTo: (port: number): void => {
      target = port;
    },
    connections: () => connections,
  };
};

export const startOAuthStand = async (): Promise<OAuthStand> => {
  const forwarder = await startForwarder();
  const mtlsOrigin = `https://localhost:${forwarder.port}`;
  const stand = await startTls(() => ({ ORDERPASS_CLIENT_CERTIFICATES: 'on', ORDERPASS_MTLS_ORIGIN: mtlsOrigin }));
  forwarder.forwardTo(stand.port);
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Foreign clients'], stand.env);
  const newClient: OAuthStand['newClient'] = async (name) => {
    const made = await runJson(['client', 'create', '--name', name, '--restaurant', String(restuid)], stand.env);
    return { id: String(made.client_id), secret: String(made.client_secret) };
  };
  // Under the name of the server's authority OpenSSL would send that one along, whose key does not fit; then Node cuts the connection.
  const authority = makeAuthority('Authority of partners');
  const filesOf = (name: string): { cert: string; key: string } => {
    const pair: Pair = authority.issue({ name, use: 'client' });
    const files = { cert: join(stand.files.folder, `${name}.crt`), key: join(stand.files.folder, `${name}.key`) };
    writeFileSync(files.cert, pair.cert);
    writeFileSync(files.key, pair.key);
    return files;
  };
  const bound = { id: (await newClient('bound')).id, ...filesOf('bound') };
  await runJson(['client', 'add-certificate', '--client-id', bound.id, '--file', bound.cert], stand.env);
  return {
    ...{ ...stand, mtlsOrigin, newClient, bound, other: filesOf('other') },
    mtlsConnections: forwarder.connections,
    close: async () => {
      await stand.close();
      forwarder.server.close();
    },
  };
};
