/** The customers of the demo's week, and what they say. All addresses of mail are of the domain that is reserved for examples. */

export type Guest = {
  first_name: string;
  last_name: string;
  email: string;
  phone: string;
  street: string;
  zip: string;
};

const names = [
  ['Giulia', 'Rossi', 'Via dei Neri'],
  ['Marco', 'Bianchi', 'Borgo San Frediano'],
  ['Chiara', 'Fontana', 'Via Ghibellina'],
  ['Luca', 'Moretti', 'Via Faenza'],
  ['Sara', 'Conti', 'Viale dei Mille'],
  ['Matteo', 'Ricci', 'Via Pisana'],
  ['Elena', 'Galli', 'Via Romana'],
  ['Davide', 'Costa', 'Borgo Pinti'],
  ['Anna', 'Lombardi', 'Via San Gallo'],
  ['Paolo', 'Greco', 'Via del Moro'],
  ['Francesca', 'Marini', 'Via Maggio'],
  ['Andrea', 'Ferri', 'Via della Scala'],
  ['Martina', 'Villa', 'Via Palazzuolo'],
  ['Simone', 'Serra', 'Via Senese'],
  ['Laura', 'Testa', 'Via Aretina'],
  ['Giovanni', 'Parisi', 'Via Cavour'],
  ['Silvia', 'Neri', 'Via dei Serragli'],
  ['Tommaso', 'Bruno', 'Via Guelfa'],
  ['Irene', 'Sala', 'Via Alfani'],
  ['Stefano', 'Monti', 'Via Bolognese'],
  ['Valentina', 'Caruso', 'Via Masaccio'],
  ['Riccardo', 'De Santis', 'Via Mazzetta'],
  ['Beatrice', 'Leone', 'Via Santa Reparata'],
  ['Emma', 'Schneider', 'Costa San Giorgio'],
  ['James', 'Walker', 'Piazza Savonarola'],
  ['Claire', 'Dubois', 'Via Giusti'],
] as const;

const zips = ['50121', '50122', '50123', '50124', '50125', '50126', '50127', '50129'] as const;

export const guests: readonly Guest[] = names.map(([first_name, last_name, street], index) => ({
  first_name,
  last_name,
  email: `${first_name}.${last_name.replaceAll(' ', '')}@example.com`.toLowerCase(),
  phone: `+39055${2_400_000 + index * 371}`,
  street,
  zip: zips[index % zips.length] ?? '50123',
}));

export const cancelReasons = ['The oven is down', 'The customer called', 'No courier is free', 'Sold out'] as const;

export const orderNotes = ['Senza cipolla', 'Ring twice', 'Nut allergy', 'Tavolo vicino alla finestra'] as const;
