/** Commands on the certificates of an API client (RFC 8705): list, addition, removal, name and binding. */
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { expiresTime } from '../../terminal/to-time.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type ById = { clientId: string };
type AddOptions = ById & { file?: string; thumbprint?: string; expires?: Date };
type NameOptions = { tlsSubject?: string; tlsSan?: string };

export const nameOptions = (command: Command): Command =>
  command
    .option('--tls-subject <dn>', 'subject of its certificates (RFC 4514), signed by an authority of yours')
    .option('--tls-san <name>', 'alternative name of them: dns:NAME, uri:URI, ip:ADDRESS or email:ADDRESS');

/** Undefined: none was given. */
export const givenName = ({
  tlsSubject,
  tlsSan,
}: NameOptions): { tlsSubject: string } | { tlsSan: string } | undefined => {
  if (tlsSubject !== undefined && tlsSan !== undefined) throw new UsageError('Give either --tls-subject or --tls-san');
  if (tlsSubject !== undefined) return { tlsSubject };
  return tlsSan === undefined ? undefined : { tlsSan };
};

export const clientCertificateCommands = (group: Command, output: Output): void => {
  addAndRemove(group, output);
  group
    .command('certificates')
    .description('the certificates of the client, with their ends and their use')
    .requiredOption('--client-id <id>', 'the client')
    .action(async ({ clientId }: ById, command: Command) => {
      const { certificates } = await withAdmin(command, (admin) => admin.credentials.showClient(clientId));
      output.list(
        'certificates',
        certificates.map(({ id, ...rest }) => toWire({ thumbprint: id, ...rest })),
      );
    });
  nameOptions(
    group
      .command('certificate-name')
      .description('set by which name certificates of your authorities are those of the client (tls_client_auth)')
      .requiredOption('--client-id <id>', 'the client'),
  )
    .option('--clear', 'no certificate is known by its name any more')
    .action(async (options: ById & NameOptions & { clear?: boolean }, command: Command) => {
      const given = givenName(options);
      if ((given === undefined) !== (options.clear === true))
        throw new UsageError('Give one of --tls-subject, --tls-san and --clear');
      await withAdmin(command, (admin) => admin.credentials.setClientCertificateName(options.clientId, given ?? null));
      output.result({ client_id: options.clientId, ...toWire(given ?? { cleared: true }) });
    });
  group
    .command('certificate-binding')
    .description(
      'set whether tokens of the client must be bound to its certificate; if required, other tokens are refused within a second',
    )
    .requiredOption('--client-id <id>', 'the client')
    .addOption(
      new Option('--binding <when>', 'required or optional').choices(['required', 'optional']).makeOptionMandatory(),
    )
    .action(async ({ clientId, binding }: ById & { binding: 'required' | 'optional' }, command: Command) => {
      await withAdmin(command, (admin) =>
        admin.credentials.setClientCertificateRequired(clientId, binding === 'required'),
      );
      output.result({ client_id: clientId, certificate_binding: binding });
    });
};

const addAndRemove = (group: Command, output: Output): void => {
  group
    .command('add-certificate')
    .description('register a certificate, self-signed or not, beside the earlier ones (self_signed_tls_client_auth)')
    .requiredOption('--client-id <id>', 'the client')
    .option('--file <pem>', 'the certificate without its key')
    .option('--thumbprint <sha256>', 'instead of the file: SHA-256 of the certificate, hexadecimal or base64url')
    .option('--expires <time>', 'an end before that of the certificate: ISO 8601 with offset', expiresTime)
    .action(async (options: AddOptions, command: Command) => {
      const given = certificateOf(options);
      const added = await withAdmin(command, (admin) =>
        admin.credentials.addClientCertificate(options.clientId, given, options.expires ?? null),
      );
      output.result(toWire(added));
    });
  group
    .command('remove-certificate')
    .description('end a certificate and the tokens that are bound to it')
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--thumbprint <sha256>', 'the certificate (`client certificates` lists them)')
    .action(async ({ clientId, thumbprint }: ById & { thumbprint: string }, command: Command) => {
      await withAdmin(command, (admin) => admin.credentials.removeClientCertificate(clientId, thumbprint));
      output.result({ client_id: clientId, thumbprint, removed: true });
    });
};

const certificateOf = ({ file, thumbprint }: AddOptions): { pem: string } | { thumbprint: string } => {
  if ((file === undefined) === (thumbprint === undefined)) throw new UsageError('Give either --file or --thumbprint');
  if (thumbprint !== undefined) return { thumbprint };
  try {
    return { pem: readFileSync(file ?? '', 'utf8') };
  } catch {
    throw new Error(`${file} cannot be read`);
  }
};
