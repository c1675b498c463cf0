/** Texts of notices. */
export const notices = {
  title: 'Notices',
  about: 'Orderpass sends each notice once, shortly after it happens.',
  none: 'You get no notices.',
  change: 'Change notices',
  which: 'Notify me when',
  kinds: {
    endpoint_disabled: 'a webhook endpoint was disabled because its receiver failed',
    key_ending: 'an API key ends within 7 days',
    refusals: 'unusually many requests are refused',
    audit_broken: 'the audit was changed',
  },
  where: 'Where',
  mail: (email: string) => `By mail to ${email}`,
  mailOff: 'This installation has no mail server, so no mail is sent until it has one.',
  url: 'At this address (webhook)',
  urlHint: 'A JSON object with `text` and `data` is posted to it. Leave it empty to keep what is stored.',
  urlProblem: 'Nothing can be posted to this address: it must begin with https:// and lead to a public host.',
  stored: (origin: string) => `An address at ${origin} is stored.`,
  remove: 'Remove the stored address',
  saved: 'Your notices are saved.',
};
