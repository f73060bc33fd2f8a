"""The manual's examples for MMR and decay, in its languages: the texts, and the scores and orders it prints."""

from __future__ import annotations

PATHS = ("memory/2026-02-10.md", "memory/2026-02-08.md", "memory/2026-02-05.md", "memory/network.md")
SCORES = (0.92, 0.89, 0.78, 0.85)
NETWORK = {
    "English": (
        "Configured Omada router, set VLAN 10 for IoT devices",
        "Configured Omada router, moved IoT to VLAN 10",
        "Set up AdGuard DNS on 192.168.10.2",
        "Router: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT",
    ),
    "French": (
        "Routeur Omada configuré, VLAN 10 défini pour les appareils IoT",
        "Routeur Omada configuré, IoT déplacé vers VLAN 10",
        "DNS AdGuard configuré sur 192.168.10.2",
        "Routeur : Omada ER605, AdGuard : 192.168.10.2, VLAN 10 : IoT",
    ),
    "Japanese": (
        "Omadaルーターを設定、IoTデバイスにVLAN 10を設定",
        "Omadaルーターを設定、IoTをVLAN 10に移動",
        "AdGuard DNSを192.168.10.2に設定",
        "ルーター: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT",
    ),
    "Spanish": (
        "Configuré router Omada, establecí VLAN 10 para dispositivos IoT",
        "Configuré router Omada, moví IoT a VLAN 10",
        "Configuré AdGuard DNS en 192.168.10.2",
        "Router: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT",
    ),
}
QUERIES = {
    "English": "home network setup",
    "French": "configuration réseau domestique",
    "Japanese": "ホームネットワーク設定",
    "Spanish": "configuración de red doméstica",
}
WITHOUT_MMR = (
    ("memory/2026-02-10.md", 0.92),
    ("memory/2026-02-08.md", 0.89),
    ("memory/network.md", 0.85),
)
WITH_MMR = (
    ("memory/2026-02-10.md", 0.92),
    ("memory/network.md", 0.85),
    ("memory/2026-02-05.md", 0.78),
)

ROD = {
    "English": (
        "Rod works Mon-Fri, standup at 10am, pairing at 2pm",
        "Rod has standup at 14:15, 1:1 with Zeb at 14:45",
        "Rod started new team, standup moved to 14:15",
    ),
    "French": (
        "Rod travaille lun-ven, standup à 10h, pairing à 14h",
        "Rod a un standup à 14:15, 1:1 avec Zeb à 14:45",
        "Rod a rejoint une nouvelle équipe, standup déplacé à 14:15",
    ),
    "Japanese": (
        "Rodは月〜金勤務、スタンドアップは10時、ペアリングは14時",
        "Rodのスタンドアップは14:15、Zebとの1:1は14:45",
        "Rodが新チームに参加、スタンドアップが14:15に変更",
    ),
    "Spanish": (
        "Rod trabaja Lun-Vie, standup a las 10am, pairing a las 2pm",
        "Rod tiene standup a las 14:15, 1:1 con Zeb a las 14:45",
        "Rod comenzó nuevo equipo, standup movido a las 14:15",
    ),
}
ROD_PATHS = ("memory/2025-09-15.md", "memory/2026-02-10.md", "memory/2026-02-03.md")
WITHOUT_DECAY = (
    ("memory/2025-09-15.md", 0.91),
    ("memory/2026-02-10.md", 0.82),
    ("memory/2026-02-03.md", 0.80),
)
WITH_DECAY = (
    ("memory/2026-02-10.md", 1.00, 0.82),
    ("memory/2026-02-03.md", 0.85, 0.68),
    ("memory/2025-09-15.md", 0.03, 0.03),
)
"""Path, what age multiplies with, and the score, on 10 February 2026 with a half-life of 30 days."""
