/** The notices, in both languages. The same sentences go into mail and into the body for a webhook. */
import type { MailLanguage } from '../mail/mail-texts.ts';
import type { NoticeKind } from './notice.ts';

type NoticeText = {
  subjects: Readonly<Record<NoticeKind, string>>;
  texts: Readonly<Record<NoticeKind, string>>;
  /** Names of facts. */
  facts: Readonly<Record<string, string>>;
  where: (origin: string) => string;
};

const en: NoticeText = {
  subjects: {
    endpoint_disabled: 'A webhook endpoint was disabled',
    key_ending: 'An API key ends within 7 days',
    credential_ending: 'A secret or certificate of an API client ends within 7 days',
    leak_reported: 'A credential was reported as leaked and ended',
    refusals: 'Unusually many requests are refused',
    audit_broken: 'The audit was changed',
  },
  texts: {
    endpoint_disabled:
      'Orderpass disabled a webhook endpoint, because its receiver is gone or has failed for too long.',
    key_ending: 'An API key ends soon. Create its successor and exchange it where it is used.',
    credential_ending:
      'The last secret or certificate of an API client ends soon. Register its successor before, so that the client can go on calling.',
    leak_reported:
      'The value of a credential was reported as leaked, so Orderpass ended it at once. Issue a new one, and find out where the value was published.',
    refusals: 'In one hour the gateway refused far more requests than in the hours before.',
    audit_broken: 'The verification found a chain of the audit that was changed or cut off.',
  },
  facts: {
    restaurant: 'Restaurant',
    endpoint: 'Endpoint',
    address: 'Address',
    reason: 'Reason',
    key: 'Key',
    ends: 'Ends',
    hour: 'Hour',
    refused: 'Refused',
    usual: 'Usual per hour',
    event: 'Event',
    at: 'At',
    client: 'API client',
    credential: 'Credential',
  },
  where: (origin) => `The panel shows more: ${origin}/panel
You chose this notice on your account page, where you can switch it off.`,
};

const it: NoticeText = {
  subjects: {
    endpoint_disabled: 'Un endpoint webhook è stato disattivato',
    key_ending: 'Una chiave API scade entro 7 giorni',
    credential_ending: 'Un segreto o un certificato di un client API scade entro 7 giorni',
    leak_reported: 'Una credenziale è stata segnalata come compromessa e disattivata',
    refusals: 'Richieste rifiutate insolitamente numerose',
    audit_broken: 'L’audit è stato alterato',
  },
  texts: {
    endpoint_disabled:
      'Orderpass ha disattivato un endpoint webhook, perché il destinatario non esiste più o non risponde da troppo tempo.',
    key_ending: 'Una chiave API sta per scadere. Crea la chiave nuova e sostituisci quella vecchia dove viene usata.',
    credential_ending:
      'L’ultimo segreto o certificato di un client API sta per scadere. Registra prima quello nuovo, così il client può continuare a fare richieste.',
    leak_reported:
      'Il valore di una credenziale è stato segnalato come trapelato e Orderpass l’ha disattivata subito. Creane una nuova e scopri dove è stato pubblicato il valore.',
    refusals: 'In un’ora il gateway ha rifiutato molte più richieste che nelle ore precedenti.',
    audit_broken: 'La verifica ha trovato una catena dell’audit alterata o troncata.',
  },
  facts: {
    restaurant: 'Ristorante',
    endpoint: 'Endpoint',
    address: 'Indirizzo',
    reason: 'Motivo',
    key: 'Chiave',
    ends: 'Scade',
    hour: 'Ora',
    refused: 'Rifiutate',
    usual: 'Di solito, all’ora',
    event: 'Evento',
    at: 'Quando',
    client: 'Client API',
    credential: 'Credenziale',
  },
  where: (origin) => `Altri dettagli nel pannello: ${origin}/panel
Hai scelto questo avviso nella pagina del tuo account, dove puoi disattivarlo.`,
};

const byLanguage: Readonly<Record<MailLanguage, NoticeText>> = { en, it };

export const noticeText = (
  language: MailLanguage,
  { kind, facts, origin }: { kind: NoticeKind; facts: Readonly<Record<string, string>>; origin: string },
): { subject: string; text: string } => {
  const t = byLanguage[language];
  const lines = Object.entries(facts).map(([name, value]) => `${t.facts[name] ?? name}: ${value}`);
  return { subject: t.subjects[kind], text: `${t.texts[kind]}\n\n${lines.join('\n')}\n\n${t.where(origin)}\n` };
};
