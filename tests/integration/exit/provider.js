// A wallet as extensions are one (EIP-1193, EIP-6963), whose answers come from the test.
// `__WALLET__` is replaced by its announcement: {uuid, name, rdns, icon, isAnnounced, isInjected}.
(() => {
  const { isAnnounced, isInjected, ...info } = __WALLET__;
  const listeners = new Map();
  const emit = (event, value) => {
    for (const listener of listeners.get(event) ?? []) listener(value);
  };
  const provider = {
    async request({ method, params = [] }) {
      const asked = JSON.stringify({ wallet: info.uuid, method, params });
      const { result, error, events = [] } = JSON.parse(await window.__askWallet(asked));
      for (const [event, value] of events) emit(event, value);
      if (error) throw Object.assign(new Error(error.message), error);
      return result;
    },
    on(event, listener) {
      listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    },
    removeListener(event, listener) {
      const others = (listeners.get(event) ?? []).filter((one) => one !== listener);
      listeners.set(event, others);
    },
  };
  window.__wallets ??= {};
  window.__wallets[info.uuid] = { emit };
  if (isInjected) window.ethereum = provider;
  if (!isAnnounced) return;
  const announce = () =>
    window.dispatchEvent(
      new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }),
    );
  window.addEventListener("eip6963:requestProvider", announce);
  window.__wallets[info.uuid].announce = announce;
  announce();
})();
