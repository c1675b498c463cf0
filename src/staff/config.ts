/** Settings of sign-in, in the section `panel` of the settings, and of mail, in the section `mail`. */
import { z } from 'zod';

export { mailSettings } from './mail/mail-settings.ts';

/** Plain http is accepted for this machine only, as for the origin. */
const isIssuer = (value: string): boolean => {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, search, hash } = new URL(value);
  if (search !== '' || hash !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname));
};

export const staffSettings = z
  .strictObject({
    oidc_issuer: z.string().refine(isIssuer, 'must be the https:// address of an issuer').optional().meta({
      description: 'OpenID provider that staff may sign in with, beside the password',
      env: 'ORDERPASS_PANEL_OIDC_ISSUER',
    }),
    oidc_client_id: z.string().min(1).max(200).optional().meta({
      description: 'Client id of the panel there; its return address is ORIGIN/panel/sign-in/provider/return',
      env: 'ORDERPASS_PANEL_OIDC_CLIENT_ID',
    }),
    oidc_client_secret: z.string().min(1).max(1_000).optional().meta({
      description: 'Client secret of the panel there',
      env: 'ORDERPASS_PANEL_OIDC_CLIENT_SECRET',
      secret: true,
    }),
    oidc_label: z.string().min(1).max(40).default('single sign-on').meta({
      description: 'Name of the provider on the sign-in page',
      env: 'ORDERPASS_PANEL_OIDC_LABEL',
    }),
  })
  .superRefine((settings, context) => {
    const given = [settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret];
    if (given.some((value) => value !== undefined) && given.includes(undefined))
      context.addIssue({
        code: 'custom',
        path: ['oidc_issuer'],
        message: 'an OpenID provider needs its issuer, a client id and a client secret',
      });
  });

export type StaffSettings = z.infer<typeof staffSettings>;
