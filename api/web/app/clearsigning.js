// @ts-check
/**
 * What a wallet that has an ERC-7730 descriptor (schema 2.0.0) shows of what it is asked to sign:
 * the intent, and a list of [label, text].
 *
 * Laws
 * - Integers are BigInt from text to text; nothing is rounded and no float is made.
 * - What does not match the descriptor's context, type or rules is an error and shows nothing, as
 *   the ERC wants of wallets. So is every form that is not read here: it is never passed over.
 * - All texts are plain text. Names in them are only those that the caller's `Wallet` knows.
 *
 * Wallets choose themselves how they group digits and write dates; here both are as in the clauses
 * of a mandate: `1,234.5 USDC`, `2026-01-31 00:00:00 UTC`. Source: ERC-7730; docs/erc7730.md.
 */

/**
 * @typedef {any} Value  text, number, bigint, boolean, null, a list or a struct of these
 * @typedef {{chainId: number, address: string}} Deployment
 * @typedef {{map: string, keyPath: string}} MapReference
 * @typedef {"always" | "never" | "optional" | {ifNotIn?: Value[], mustMatch?: Value[]}} Visible
 * @typedef {object} Params
 * @property {string | MapReference} [token]
 * @property {string} [tokenPath]
 * @property {string | string[]} [nativeCurrencyAddress]
 * @property {string} [threshold]
 * @property {string} [message]
 * @property {string} [encoding]
 * @property {string} [base]
 * @property {number} [decimals]
 * @property {boolean} [prefix]
 * @property {string} [$ref]
 * @typedef {object} Field
 * @property {string} [$id]
 * @property {string} [path]
 * @property {Value} [value]
 * @property {string} [label]
 * @property {string} [format]
 * @property {Params} [params]
 * @property {Visible} [visible]
 * @property {Field[]} [fields]
 * @typedef {{$id?: string, intent?: string | Record<string, string>, fields?: Field[]}} Format
 * @typedef {object} Context
 * @property {string} [$id]
 * @property {{domain?: Record<string, Value>, deployments?: Deployment[]}} [eip712]
 * @property {{deployments?: Deployment[], factory?: {deployments: Deployment[], deployEvent: string}}} [contract]
 * @typedef {object} Metadata
 * @property {string} [owner]
 * @property {string} [contractName]
 * @property {Record<string, {$keyType?: string, values: Record<string, string>}>} [maps]
 * @property {Record<string, Record<string, string>>} [enums]
 * @typedef {object} Descriptor
 * @property {string} $schema
 * @property {Context} context
 * @property {Metadata} metadata
 * @property {{formats: Record<string, Format>}} display
 */

/**
 * A document of eth_signTypedData_v4.
 * @typedef {object} TypedData
 * @property {Record<string, {name: string, type: string}[]>} types
 * @property {string} primaryType
 * @property {Record<string, Value>} domain
 * @property {Record<string, Value>} message
 */

/**
 * A call whose data is decoded. `signature`: types alone, `withdraw(address,address,uint256)`;
 * `args` by their names; `createdBy`: the factory whose event names `to`, where it is known.
 * @typedef {object} DecodedCall
 * @property {number} chainId
 * @property {string} to
 * @property {string} signature
 * @property {Record<string, Value>} args
 * @property {string} [createdBy]
 * @property {string} [from]
 * @property {Value} [value]
 */

/**
 * What the wallet knows by itself. Keys are addresses in lower case; those of tokens begin with the
 * chain: `84532:0x036c...`.
 * @typedef {object} Wallet
 * @property {Record<string, {ticker: string, decimals: number}>} [tokens]
 * @property {Record<string, string>} [names]
 * @property {string} [nativeTicker]
 */

/** @typedef {[label: string, text: string]} Row */
/** @typedef {{intent: string, rows: Row[]}} Screen */

export const SCHEMA_MAJOR = "2";

/** The descriptor does not fit what is to be signed; a wallet would not use it. */
export class ClearSigningError extends Error {}

/**
 * @param {Descriptor} descriptor
 * @param {TypedData} document
 * @param {Wallet} [wallet]
 * @returns {Screen}
 */
export function typedDataScreen(descriptor, document, wallet = {}) {
  requireSchema(descriptor);
  const context = descriptor.context.eip712;
  if (!context) throw new ClearSigningError("the descriptor is not of typed data");
  for (const [key, wanted] of Object.entries(context.domain ?? {})) {
    const found = own(document.domain, key);
    if (found !== wanted)
      throw new ClearSigningError(`the domain's ${key} is ${text(found)}, not ${text(wanted)}`);
  }
  const chainId = Number(integer(own(document.domain, "chainId") ?? 0));
  const to = text(own(document.domain, "verifyingContract") ?? "");
  if (context.deployments) requireDeployed(context.deployments, chainId, to);
  const type = encodeType(document.types, document.primaryType);
  const format = own(descriptor.display.formats, type);
  if (format === undefined) throw new ClearSigningError(`no format for ${type}`);
  return screen(descriptor, format, document.message, { chainId, to, value: 0n }, wallet);
}

/**
 * @param {Descriptor} descriptor
 * @param {DecodedCall} call
 * @param {Wallet} [wallet]
 * @returns {Screen}
 */
export function callScreen(descriptor, call, wallet = {}) {
  requireSchema(descriptor);
  const context = descriptor.context.contract;
  if (!context) throw new ClearSigningError("the descriptor is not of calls");
  if (!context.deployments && !context.factory)
    throw new ClearSigningError("the descriptor is bound to nothing");
  if (context.deployments) requireDeployed(context.deployments, call.chainId, call.to);
  if (context.factory)
    requireDeployed(context.factory.deployments, call.chainId, call.createdBy ?? "");
  const found = Object.entries(descriptor.display.formats).filter(
    ([key]) => typesOnly(key) === call.signature,
  );
  const [entry] = found;
  if (entry === undefined || found.length > 1)
    throw new ClearSigningError(`${found.length} formats for ${call.signature}`);
  const container = {
    chainId: call.chainId,
    to: call.to,
    from: call.from,
    value: call.value ?? 0n,
  };
  return screen(descriptor, entry[1], call.args, container, wallet);
}

/**
 * The same descriptor for one deployment: the console's own network, or a local chain, whose
 * contracts no published file names.
 * @param {Descriptor} descriptor
 * @param {{chainId: number, factory: string, usdc: string}} place
 * @returns {Descriptor}
 */
export function boundTo(descriptor, place) {
  const deployments = [{ chainId: place.chainId, address: place.factory }];
  const { eip712, contract } = descriptor.context;
  const context = { ...descriptor.context };
  if (eip712) context.eip712 = { ...eip712, deployments };
  if (contract?.deployments) context.contract = { ...contract, deployments };
  if (contract?.factory)
    context.contract = { ...contract, factory: { ...contract.factory, deployments } };
  const usdc = {
    ...descriptor.metadata.maps?.usdc,
    values: { [String(place.chainId)]: place.usdc },
  };
  return {
    ...descriptor,
    context,
    metadata: { ...descriptor.metadata, maps: { ...descriptor.metadata.maps, usdc } },
  };
}

/** @param {Descriptor} descriptor */
function requireSchema(descriptor) {
  const name = /\/erc7730-v([0-9]+)[0-9.]*\.schema\.json$/.exec(descriptor.$schema);
  if (name?.[1] !== SCHEMA_MAJOR) {
    throw new ClearSigningError(
      `the descriptor is of ${descriptor.$schema}, not of version ${SCHEMA_MAJOR}`,
    );
  }
}

/**
 * @param {Deployment[]} deployments
 * @param {number} chainId
 * @param {string} address
 */
function requireDeployed(deployments, chainId, address) {
  const wanted = address.toLowerCase();
  if (!deployments.some((one) => one.chainId === chainId && one.address.toLowerCase() === wanted)) {
    throw new ClearSigningError(
      `${address || "the contract"} on chain ${chainId} is none of the descriptor's`,
    );
  }
}

// Types

/**
 * encodeType of EIP-712: the primary type, then those that it refers to, sorted by name.
 * @param {TypedData["types"]} types
 * @param {string} primary
 * @returns {string}
 */
export function encodeType(types, primary) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {string} name */
  const visit = (name) => {
    const members = own(types, name);
    if (found.has(name) || members === undefined) return;
    found.add(name);
    for (const member of members) visit(member.type.replace(/\[.*$/, ""));
  };
  visit(primary);
  if (!found.has(primary)) throw new ClearSigningError(`the document has no type ${primary}`);
  found.delete(primary);
  return [primary, ...[...found].sort()]
    .map(
      (name) =>
        `${name}(${types[name]?.map((member) => `${member.type} ${member.name}`).join(",")})`,
    )
    .join("");
}

/**
 * `f((address a,uint256 b)[] list,bool on)` is `f((address,uint256)[],bool)`.
 * @param {string} fragment
 */
function typesOnly(fragment) {
  return fragment.replace(/ [A-Za-z_$][A-Za-z0-9_$]*(?=[,)])/g, "");
}

// Fields

/** @typedef {{chainId: number, to: string, from?: string, value: Value}} Container */
/**
 * Where paths are read: `here` is the struct that relative paths begin at.
 * @typedef {object} Scope
 * @property {Descriptor} descriptor
 * @property {Record<string, Value>} data
 * @property {Record<string, Value>} here
 * @property {Container} container
 * @property {Wallet} wallet
 */

/**
 * @param {Descriptor} descriptor
 * @param {Format} format
 * @param {Record<string, Value>} data
 * @param {Container} container
 * @param {Wallet} wallet
 * @returns {Screen}
 */
function screen(descriptor, format, data, container, wallet) {
  const intent =
    typeof format.intent === "string"
      ? format.intent
      : Object.values(format.intent ?? {}).join(", ");
  return {
    intent,
    rows: rowsOf(format.fields ?? [], { descriptor, data, here: data, container, wallet }),
  };
}

/**
 * @param {Field[]} fields
 * @param {Scope} scope
 * @returns {Row[]}
 */
function rowsOf(fields, scope) {
  return fields.flatMap((field) =>
    field.fields ? groupRows(field, field.fields, scope) : fieldRows(field, scope),
  );
}

/**
 * @param {Field} group
 * @param {Field[]} fields
 * @param {Scope} scope
 * @returns {Row[]}
 */
function groupRows(group, fields, scope) {
  if (group.path === undefined) return rowsOf(fields, scope);
  if (!group.path.endsWith(".[]"))
    return rowsOf(fields, { ...scope, here: struct(read(group.path, scope), group.path) });
  const path = group.path.slice(0, -".[]".length);
  const items = list(read(path, scope), path);
  if (items.length === 0 && group.label) return [[group.label, "none"]];
  return items.flatMap((item, at) => {
    const rows = rowsOf(fields, { ...scope, here: struct(item, path) });
    return group.label
      ? [/** @type {Row} */ ([group.label, `${at + 1} of ${items.length}`]), ...rows]
      : rows;
  });
}

/**
 * @param {Field} field
 * @param {Scope} scope
 * @returns {Row[]}
 */
function fieldRows(field, scope) {
  const value = field.path === undefined ? (field.value ?? null) : read(field.path, scope);
  if (!isVisible(field, value)) return [];
  if (!field.label || !field.format)
    throw new ClearSigningError(`${field.path} has no label or no format`);
  return [[field.label, formatted(field.format, field.params ?? {}, value, scope)]];
}

/**
 * @param {Field} field
 * @param {Value} value
 */
function isVisible(field, value) {
  const rule = field.visible ?? "always";
  if (rule === "always" || rule === "optional") return true;
  if (rule === "never") return false;
  if (rule.ifNotIn) return !rule.ifNotIn.some((one) => isSame(one, value));
  if (!rule.mustMatch?.some((one) => isSame(one, value))) {
    throw new ClearSigningError(`${field.path} is ${text(value)}, which it must not be`);
  }
  return false;
}

/**
 * @param {Value} one
 * @param {Value} other
 */
function isSame(one, other) {
  if (typeof one === "number" || typeof one === "bigint")
    return isInteger(other) && integer(one) === integer(other);
  return text(one).toLowerCase() === text(other).toLowerCase();
}

// Paths

/**
 * @param {string} path
 * @param {Scope} scope
 * @returns {Value}
 */
function read(path, scope) {
  const [root = "", ...names] = path.split(".");
  if (root === "#") return walk(scope.data, names, path);
  if (root === "$") return walk(scope.descriptor, names, path);
  if (root === "@") return walk(scope.container, names, path);
  return walk(scope.here, [root, ...names], path);
}

/**
 * @param {Value} from
 * @param {string[]} names
 * @param {string} path
 * @returns {Value}
 */
function walk(from, names, path) {
  /** @type {Value} */
  let value = from;
  for (const name of names) {
    const index = /^\[(-?[0-9]+)\]$/.exec(name);
    if (index) value = list(value, path).at(Number(index[1])) ?? null;
    else value = own(struct(value, path), name) ?? null;
    if (value === null) throw new ClearSigningError(`no value at ${path}`);
  }
  return value;
}

/**
 * @template Member
 * @param {Record<string, Member>} object
 * @param {string} name
 * @returns {Member | undefined}
 */
function own(object, name) {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * @param {Value} value
 * @param {string} path
 * @returns {Record<string, Value>}
 */
function struct(value, path) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ClearSigningError(`${path} is not a struct`);
  }
  return value;
}

/**
 * @param {Value} value
 * @param {string} path
 * @returns {Value[]}
 */
function list(value, path) {
  if (!Array.isArray(value)) throw new ClearSigningError(`${path} is not a list`);
  return value;
}

// Formats

/**
 * @param {string} format
 * @param {Params} params
 * @param {Value} value
 * @param {Scope} scope
 * @returns {string}
 */
function formatted(format, params, value, scope) {
  switch (format) {
    case "raw":
      return text(value);
    case "addressName":
      return scope.wallet.names?.[text(value).toLowerCase()] ?? text(value);
    case "amount":
      return `${decimal(integer(value), 18)} ${scope.wallet.nativeTicker ?? "ETH"}`;
    case "tokenAmount":
      return tokenAmount(params, integer(value), scope);
    case "unit":
      if (params.prefix) throw new ClearSigningError("units with an SI prefix are not read");
      return `${decimal(integer(value), params.decimals ?? 0)}${params.base ?? ""}`;
    case "date":
      if (params.encoding !== "timestamp")
        throw new ClearSigningError(`dates by ${params.encoding} are not read`);
      return date(integer(value));
    case "duration":
      return duration(integer(value));
    case "enum":
      return choice(params, value, scope);
    default:
      throw new ClearSigningError(`the format ${format} is not read`);
  }
}

/**
 * A token that the wallet does not know is shown in base units, with its address.
 * @param {Params} params
 * @param {bigint} amount
 * @param {Scope} scope
 */
function tokenAmount(params, amount, scope) {
  const address = tokenAddress(params, scope);
  const native = [params.nativeCurrencyAddress ?? []].flat();
  if (native.some((one) => isSame(one, address))) return formatted("amount", {}, amount, scope);
  const token = scope.wallet.tokens?.[`${scope.container.chainId}:${address.toLowerCase()}`];
  if (token === undefined) return `${amount} base units of an unknown token ${address}`.trimEnd();
  if (params.threshold !== undefined && amount >= BigInt(params.threshold)) {
    return `${params.message ?? "Unlimited"} ${token.ticker}`;
  }
  return `${decimal(amount, token.decimals)} ${token.ticker}`;
}

/**
 * @param {Params} params
 * @param {Scope} scope
 * @returns {string}
 */
function tokenAddress(params, scope) {
  if (params.tokenPath !== undefined) return text(read(params.tokenPath, scope));
  if (typeof params.token === "object") return text(mapped(params.token, scope));
  if (params.token?.startsWith("$.")) return text(read(params.token, scope));
  return params.token ?? "";
}

/**
 * @param {MapReference} reference
 * @param {Scope} scope
 */
function mapped(reference, scope) {
  const key = text(read(reference.keyPath, scope));
  return read(`${reference.map}.values.${key}`, scope);
}

/**
 * A value without a word is shown as it is.
 * @param {Params} params
 * @param {Value} value
 * @param {Scope} scope
 */
function choice(params, value, scope) {
  const words = struct(
    read(params.$ref ?? "", scope),
    params.$ref ?? "an enum without a reference",
  );
  return text(own(words, text(value)) ?? value);
}

/** @param {bigint} seconds */
function date(seconds) {
  const at = new Date(Number(seconds) * 1_000);
  if (seconds < 0n || Number.isNaN(at.getTime())) return `second ${seconds}`;
  return at.toISOString().replace("T", " ").replace(".000Z", " UTC");
}

/** @param {bigint} seconds */
function duration(seconds) {
  return [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/**
 * 1234500000 with six decimals is `1,234.5`: no trailing zeros, nothing rounded.
 * @param {bigint} amount
 * @param {number} decimals
 */
function decimal(amount, decimals) {
  const sign = amount < 0n ? "-" : "";
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${sign}${whole}${fraction ? `.${fraction}` : ""}`;
}

// Values

/** @param {Value} value */
function isInteger(value) {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return true;
  return typeof value === "string" && /^(-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value);
}

/**
 * @param {Value} value
 * @returns {bigint}
 */
function integer(value) {
  if (!isInteger(value)) throw new ClearSigningError(`${text(value)} is not a whole number`);
  return BigInt(/** @type {string | number | bigint} */ (value));
}

/**
 * @param {Value | undefined} value
 * @returns {string}
 */
function text(value) {
  if (typeof value === "object" && value !== null)
    throw new ClearSigningError("a struct or list has no text");
  return String(value);
}
