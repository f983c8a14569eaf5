// Customers of a made-up business as two systems have them, and which of them are the same: what
// the matching must find without being told.

import type {Party, PartyAddress} from '../../src/match/party.ts';

/** Two systems, and the truth about them. */
export interface TwoSystems {
  readonly ours: readonly Party[];
  readonly theirs: readonly Party[];
  /** By the id of theirs the ids of ours: several where we have a customer twice. */
  readonly truth: ReadonlyMap<string, ReadonlySet<string>>;
}

interface Person {
  readonly name: string;
  readonly phone: string;
  readonly mobile: string;
  readonly email: string;
  readonly address: PartyAddress;
}

/** Random, but the same for a seed. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** mulberry32 @returns 0 to 1 */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  below(most: number): number {
    return Math.floor(this.next() * most);
  }

  pick<T>(some: readonly T[]): T {
    const picked = some[this.below(some.length)];
    if (picked === undefined) throw new Error('expected something to pick from');
    return picked;
  }

  /** The first ones come most often, as names do. */
  pickCommon<T>(some: readonly T[]): T {
    const picked = some[Math.floor(some.length * this.next() ** 2.5)];
    if (picked === undefined) throw new Error('expected something to pick from');
    return picked;
  }
}

const firstNames = [
  'James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William',
  'Barbara Richard Susan Joseph Jessica Thomas Karen Charles Sarah Anna Anne Jan',
  'Jane Jon Joan Eric Erik Marc Mark Carl Karl Maria Marie Ellen Helen Tim Tom Kim',
  'Jim Daniel Danielle Steven Stephen Sara Laura Lara Paul Paula José Zoë Björn',
  'Renée Ana Luis Luisa Frank Franz Peter Petra Andrea Andreas Eva Ava Emma Gemma',
].flatMap((line) => line.split(' '));
const nicknames: Readonly<Record<string, string>> = {
  Robert: 'Bob',
  William: 'Bill',
  James: 'Jim',
  Elizabeth: 'Liz',
  Michael: 'Mike',
  Richard: 'Dick',
  Thomas: 'Tom',
  Jennifer: 'Jenny',
  Daniel: 'Dan',
  Steven: 'Steve',
};
const commonSurnames = [
  'Smith Johnson Williams Brown Jones Garcia Miller Davis Martin Martinez Anderson',
  'Andersen Thompson Thomson Clark Clarke Lee Lea Meyer Meier Schmidt Schmitt',
  'Nguyen O’Brien McDonald Hansen Hanson Reed Reid Müller Muller',
].flatMap((line) => line.split(' '));
const syllables = [
  'ka lo mi ren tor vas bel dun fer gar hol jor kel lan mor nic ost pel quin ros',
  'sten tal ul ver wen yor zan brad cor dal',
].flatMap((line) => line.split(' '));
const trades = [
  'Plumbing Roofing Electric Heating Bakery Dental Motors Realty Landscaping',
  'Storage Hotel Pharmacy',
].flatMap((line) => line.split(' '));
const forms = ['LLC', 'Inc.', 'Inc', 'Co.', 'Ltd', ''];
const streets = [
  'Oak Maple Cedar Pine Elm Washington Lake Hill Main Church Park River Spring',
  'Ridge Walnut Jackson Franklin Highland Sunset Mill',
].flatMap((line) => line.split(' '));
const streetKinds = [
  ['Street', 'St', 'St.'],
  ['Avenue', 'Ave', 'Ave.'],
  ['Road', 'Rd', 'Rd.'],
  ['Drive', 'Dr', 'Dr'],
] as const;
const townBegins = 'Stone River Green West Fair'.split(' ');
const townEnds = 'bridge ton field view dale port ford wood'.split(' ');
const towns = Array.from({length: 40}, (_, at) => ({
  city: `${townBegins[at % 5]}${townEnds[at % 8]}`,
  zip: String(10_001 + at * 37).padStart(5, '0'),
}));

/** How often something happens to a customer that both systems have. */
const shares = {
  hereAlone: 0.1,
  thereAlone: 0.1,
  twiceHere: 0.04,
  twiceThere: 0.02,
  typo: 0.1,
  nickname: 0.015,
  initial: 0.02,
  lastFirst: 0.15,
  noPhone: 0.08,
  newPhone: 0.07,
  noEmail: 0.3,
  newEmail: 0.06,
  moved: 0.1,
  noAddress: 0.04,
} as const;

/** @param size - about so many customers on each side */
export function makeTwoSystems(size: number, seed: number): TwoSystems {
  const dice = new Dice(seed);
  const people = makePeople(dice, size);
  const ours: Party[] = [];
  const theirs: Party[] = [];
  const truth = new Map<string, Set<string>>();
  const add = (side: Party[], party: Omit<Party, 'id'>) => {
    const id = side === ours ? String(side.length + 1) : `P-${side.length + 1}`;
    side.push({id, ...party});
    return id;
  };
  for (const person of people) {
    const where = dice.next();
    const isHere = where >= shares.thereAlone;
    const isThere = where < shares.thereAlone || where >= shares.thereAlone + shares.hereAlone;
    const here = isHere ? [add(ours, write(person))] : [];
    if (isHere && dice.chance(shares.twiceHere)) here.push(add(ours, spoil(dice, person)));
    const there = isThere ? [add(theirs, spoil(dice, person))] : [];
    if (isThere && dice.chance(shares.twiceThere)) there.push(add(theirs, spoil(dice, person)));
    if (here.length > 0) for (const id of there) truth.set(id, new Set(here));
  }
  return {ours: shuffle(dice, ours), theirs: shuffle(dice, theirs), truth};
}

function shuffle<T>(dice: Dice, some: readonly T[]): T[] {
  return some
    .map((each) => ({each, at: dice.next()}))
    .toSorted((one, other) => one.at - other.at)
    .map(({each}) => each);
}

/** Households, offices with one telephone for all, chains, and firms. */
function makePeople(dice: Dice, size: number): Person[] {
  const people: Person[] = [];
  while (people.length < size) {
    const kind = dice.next();
    if (kind < 0.5) people.push(makePerson(dice));
    else if (kind < 0.7) people.push(...makeHousehold(dice));
    else if (kind < 0.97) people.push(makeFirm(dice));
    else if (kind < 0.985) people.push(...makeTenants(dice));
    else people.push(...makeChain(dice));
  }
  return people;
}

function makeSurname(dice: Dice): string {
  if (dice.chance(0.35)) return dice.pickCommon(commonSurnames);
  const made = Array.from({length: 2 + dice.below(2)}, () => dice.pick(syllables)).join('');
  return made.charAt(0).toUpperCase() + made.slice(1);
}

function makePhone(dice: Dice): string {
  const area = dice.pick(['212', '415', '617', '312', '503']);
  return `${area}${2 + dice.below(8)}${String(dice.below(1_000_000)).padStart(6, '0')}`;
}

function makeAddress(dice: Dice): PartyAddress {
  const number = 1 + dice.below(400);
  return {
    street: `${number} ${dice.pick(streets)} ${dice.pick(streetKinds)[0]}`,
    ...dice.pick(towns),
  };
}

function makeEmail(dice: Dice, name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z ]/g, '')
    .toLowerCase();
  return `${plain.split(' ').join('.')}${dice.below(1_000_000)}@example.com`;
}

function makePerson(dice: Dice): Person {
  const name = `${dice.pickCommon(firstNames)} ${makeSurname(dice)}`;
  return {
    name,
    phone: makePhone(dice),
    mobile: dice.chance(0.3) ? makePhone(dice) : '',
    email: dice.chance(0.7) ? makeEmail(dice, name) : '',
    address: makeAddress(dice),
  };
}

/** One house and one telephone; some share an address of e-mail, and some a name. */
function makeHousehold(dice: Dice): Person[] {
  const first = makePerson(dice);
  const [given = '', surname = ''] = first.name.split(' ');
  if (dice.chance(0.03)) {
    const junior = {...first, name: `${first.name} Jr`, mobile: makePhone(dice), email: ''};
    return [dice.chance(0.5) ? {...first, name: `${first.name} Sr.`} : first, junior];
  }
  if (dice.chance(0.02))
    return [
      {...first, email: '', mobile: ''},
      {...first, phone: makePhone(dice)},
    ];
  const names = new Set([given]);
  while (names.size < 2 + dice.below(2)) names.add(dice.pickCommon(firstNames));
  const sharesEmail = dice.chance(0.3);
  return [...names].map((each) => {
    const name = `${each} ${surname}`;
    if (sharesEmail) return {...first, name};
    return {...first, name, email: dice.chance(0.6) ? makeEmail(dice, name) : ''};
  });
}

function makeFirm(dice: Dice): Person {
  const surname = makeSurname(dice);
  const name = `${surname} ${dice.pick(trades)} ${dice.pick(forms)}`.trim();
  const email = dice.chance(0.7)
    ? `info@${surname
        .normalize('NFKD')
        .replaceAll(/[^A-Za-z]/g, '')
        .toLowerCase()}${dice.below(100)}.example`
    : '';
  return {name, phone: makePhone(dice), mobile: '', email, address: makeAddress(dice)};
}

/** A house with flats; the manager's telephone is that of all, and his e-mail of some. */
function makeTenants(dice: Dice): Person[] {
  const {phone, email, address} = makePerson(dice);
  return Array.from({length: 10 + dice.below(30)}, (_, at) => ({
    ...makePerson(dice),
    phone,
    mobile: '',
    ...(dice.chance(0.5) ? {email} : {}),
    address: {...address, street: `${address.street} Apt ${at + 1}`},
  }));
}

/** Branches of one firm, with its one telephone and e-mail. */
function makeChain(dice: Dice): Person[] {
  const {name, phone, email} = makeFirm(dice);
  const bare = name.replace(/ (LLC|Inc\.?|Co\.|Ltd)$/, '');
  return Array.from({length: 3 + dice.below(12)}, (_, at) => ({
    name: `${bare} #${at + 1}`,
    phone,
    mobile: '',
    email,
    address: makeAddress(dice),
  }));
}

function write({name, phone, mobile, email, address}: Person): Omit<Party, 'id'> {
  return {
    name,
    phones: [phone, mobile].filter((each) => each !== ''),
    emails: email === '' ? [] : [email],
    addresses: address.street === '' ? [] : [address],
  };
}

/** As another clerk has typed it, some years ago. */
function spoil(dice: Dice, person: Person): Omit<Party, 'id'> {
  const phone = dice.chance(shares.newPhone) ? makePhone(dice) : person.phone;
  const email = dice.chance(shares.newEmail) ? makeEmail(dice, person.name) : person.email;
  const address = dice.chance(shares.moved) ? makeAddress(dice) : person.address;
  const place = {...address, street: respell(dice, address.street)};
  return write({
    name: misspell(dice, rename(dice, person.name)),
    phone: dice.chance(shares.noPhone) ? '' : punctuate(dice, phone),
    mobile: person.mobile === '' || dice.chance(0.5) ? '' : punctuate(dice, person.mobile),
    email: dice.chance(shares.noEmail) ? '' : dice.chance(0.3) ? email.toUpperCase() : email,
    address: dice.chance(shares.noAddress) ? {street: '', city: '', zip: ''} : place,
  });
}

function punctuate(dice: Dice, phone: string): string {
  if (phone === '') return '';
  const [area, three, four] = [phone.slice(0, 3), phone.slice(3, 6), phone.slice(6)];
  return dice.pick([
    ...[phone, `(${area}) ${three}-${four}`, `${area}-${three}-${four}`],
    ...[`+1 ${area} ${three} ${four}`, `1.${area}.${three}.${four}`],
  ]);
}

function respell(dice: Dice, street: string): string {
  const respelled = streetKinds.reduce(
    (text, kinds) => text.replace(kinds[0], dice.pick(kinds)),
    street,
  );
  return dice.chance(0.04) ? slip(dice, respelled) : respelled;
}

function rename(dice: Dice, name: string): string {
  const [first = '', ...rest] = name.split(' ');
  if (dice.chance(shares.nickname)) return [nicknames[first] ?? first, ...rest].join(' ');
  if (dice.chance(shares.initial))
    return dice.chance(0.5) ? `${first[0]}. ${rest.join(' ')}` : `${first} Q. ${rest.join(' ')}`;
  const [last = '', ...others] = rest;
  if (others.length === 0 && dice.chance(shares.lastFirst)) return `${last}, ${first}`;
  return dice.chance(0.3) ? name.toUpperCase() : name;
}

function misspell(dice: Dice, name: string): string {
  return dice.chance(shares.typo) ? slip(dice, name) : name;
}

/** A letter left out, doubled, replaced or changed with the next. */
function slip(dice: Dice, text: string): string {
  const at = 1 + dice.below(Math.max(1, text.length - 2));
  const [before, letter, after] = [text.slice(0, at), text.charAt(at), text.slice(at + 1)];
  return dice.pick([
    ...[before + after, before + letter + letter + after],
    ...[before + dice.pick([...'aeinrst']) + after],
    before + after.charAt(0) + letter + after.slice(1),
  ]);
}
