/** Settings of TLS on a listener. */
import { z } from 'zod';
import { integer } from '#src/platform/settings.ts';

const file = (description: string, env: string) => z.string().min(1).optional().meta({ description, env });

type Pair = { cert_file?: string | undefined; key_file?: string | undefined };

/** The problem is that of the member that is given, so that the rest of the settings can be checked without it. */
const needPair = ({ cert_file, key_file }: Pair, context: z.RefinementCtx): void => {
  if (cert_file !== undefined && key_file === undefined) need(context, 'cert_file', 'needs a key file beside it');
  if (cert_file === undefined && key_file !== undefined)
    need(context, 'key_file', 'needs a certificate file beside it');
};

const need = (context: z.RefinementCtx, path: string, message: string): void =>
  context.addIssue({ code: 'custom', path: [path], message });

/** The public listener. Without `cert_file` it speaks plain HTTP. */
export const tlsSettings = z
  .strictObject({
    cert_file: file(
      'Certificate of the public listener with its chain (PEM), which then speaks TLS only; read again when it changes',
      'ORDERPASS_TLS_CERT_FILE',
    ),
    key_file: file('Private key of that certificate (PEM, without a passphrase)', 'ORDERPASS_TLS_KEY_FILE'),
    client_ca_file: file(
      'Authorities (PEM) of client certificates, which the public listener then requests. A certificate that none of them signed is refused (unless ORDERPASS_CLIENT_CERTIFICATES is on); a client without a certificate is let in',
      'ORDERPASS_TLS_CLIENT_CA_FILE',
    ),
    redirect_port: integer(1, 65_535).optional().meta({
      description:
        'Plain port beside the TLS port: GET and HEAD without a credential are redirected to the public address, everything else is refused',
      env: 'ORDERPASS_TLS_REDIRECT_PORT',
    }),
  })
  .superRefine((settings, context) => {
    needPair(settings, context);
    if (settings.cert_file !== undefined) return;
    if (settings.redirect_port !== undefined) need(context, 'redirect_port', 'needs a certificate and a key for TLS');
  });

/** The internal listener. Without `cert_file` it speaks plain HTTP. */
export const internalTlsSettings = z
  .strictObject({
    cert_file: file(
      'Certificate of the internal listener with its chain (PEM), which then speaks TLS only',
      'ORDERPASS_INTERNAL_TLS_CERT_FILE',
    ),
    key_file: file('Private key of that certificate (PEM, without a passphrase)', 'ORDERPASS_INTERNAL_TLS_KEY_FILE'),
  })
  .superRefine(needPair);
