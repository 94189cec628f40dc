"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: membership on the wire."""

from __future__ import annotations

from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupspec.impl.network.conversion import Context, Conversion, single
from groupspec.impl.network.wire import Fields, Node

_MEMBERS_OWN_ERRORS = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""From LeaveGroup 3 on these stand beside the member that they concern; all others concern the whole request."""


def _write_join(request: JoinGroupRequest, context: Context) -> Fields:
    return {
        "group_id": request.group_id,
        "session_timeout": request.session_timeout_ms,
        "rebalance_timeout": request.rebalance_timeout_ms,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "protocol_type": request.protocol_type,
        "protocols": [{"name": name, "metadata": metadata} for name, metadata in request.protocols],
        "reason": request.reason,
    }


def _read_join(node: Node, context: Context) -> JoinGroupRequest:
    session_timeout_ms = node.duration_ms("session_timeout")
    return JoinGroupRequest(
        group_id=node.text("group_id"),
        session_timeout_ms=session_timeout_ms,
        # Version 0 has one timeout for both purposes (KIP-62 separated them).
        rebalance_timeout_ms=node.duration_ms("rebalance_timeout", session_timeout_ms),
        member_id=node.text("member_id"),
        group_instance_id=node.nullable_text("group_instance_id"),
        protocols=tuple((p.text("name"), p.data("metadata")) for p in node.nodes("protocols")),
        reason=node.text("reason"),
        protocol_type=node.text("protocol_type"),
    )


def _write_joined(response: JoinGroupResponse, context: Context) -> Fields:
    nullable_name = context.version >= 7
    return {
        "error_code": response.error,
        "generation_id": response.generation,
        "protocol_type": response.protocol_type,
        "protocol_name": (response.protocol_name or None) if nullable_name else response.protocol_name,
        "leader": response.leader,
        "skip_assignment": response.skip_assignment,
        "member_id": response.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "metadata": member.metadata,
            }
            for member in response.members
        ],
    }


def _read_joined(node: Node, context: Context) -> JoinGroupResponse:
    return JoinGroupResponse(
        error=node.error(),
        generation=node.number("generation_id"),
        protocol_name=node.text("protocol_name"),
        leader=node.text("leader"),
        member_id=node.text("member_id"),
        members=tuple(
            JoinedMember(member.text("member_id"), member.nullable_text("group_instance_id"), member.data("metadata"))
            for member in node.nodes("members")
        ),
        skip_assignment=node.flag("skip_assignment"),
        protocol_type=node.nullable_text("protocol_type") if "protocol_type" in node else "consumer",
    )


def _write_sync(request: SyncGroupRequest, context: Context) -> Fields:
    return {
        "group_id": request.group_id,
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "protocol_type": request.protocol_type,
        "protocol_name": request.protocol_name,
        "assignments": [{"member_id": member_id, "assignment": data} for member_id, data in request.assignments],
    }


def _read_sync(node: Node, context: Context) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=node.text("group_id"),
        generation=node.number("generation_id"),
        member_id=node.text("member_id"),
        group_instance_id=node.nullable_text("group_instance_id"),
        protocol_name=node.text("protocol_name"),
        assignments=tuple((a.text("member_id"), a.data("assignment")) for a in node.nodes("assignments")),
        protocol_type=node.text("protocol_type") if "protocol_type" in node else "consumer",
    )


def _write_synced(response: SyncGroupResponse, context: Context) -> Fields:
    return {
        "error_code": response.error,
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
        "assignment": response.assignment,
    }


def _read_synced(node: Node, context: Context) -> SyncGroupResponse:
    return SyncGroupResponse(
        error=node.error(),
        assignment=node.data("assignment"),
        protocol_type=node.nullable_text("protocol_type"),
        protocol_name=node.nullable_text("protocol_name"),
    )


def _write_heartbeat(request: HeartbeatRequest, context: Context) -> Fields:
    return {
        "group_id": request.group_id,
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
    }


def _read_heartbeat(node: Node, context: Context) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=node.text("group_id"),
        generation=node.number("generation_id"),
        member_id=node.text("member_id"),
        group_instance_id=node.nullable_text("group_instance_id"),
    )


def _write_leave(request: LeaveGroupRequest, context: Context) -> Fields:
    member = {
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "reason": request.reason,
    }
    return {"group_id": request.group_id, "member_id": request.member_id, "members": [member]}


def _read_leave(node: Node, context: Context) -> LeaveGroupRequest:
    member = single(node.nodes("members"), "members") if "members" in node else node
    return LeaveGroupRequest(
        group_id=node.text("group_id"),
        member_id=member.text("member_id"),
        group_instance_id=member.nullable_text("group_instance_id"),
        reason=member.text("reason"),
    )


def _write_left(response: LeaveGroupResponse, context: Context) -> Fields:
    of_member = context.version >= 3 and response.error in (*_MEMBERS_OWN_ERRORS, ErrorCode.NONE)
    request = context.request if isinstance(context.request, LeaveGroupRequest) else None
    member = {
        "member_id": request.member_id if request else "",
        "group_instance_id": request.group_instance_id if request else None,
        "error_code": response.error,
    }
    return {"error_code": ErrorCode.NONE if of_member else response.error, "members": [member] if of_member else []}


def _read_left(node: Node, context: Context) -> LeaveGroupResponse:
    errors = [node.error(), *(member.error() for member in node.nodes("members"))]
    return LeaveGroupResponse(next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE))


JOIN_GROUP = Conversion(
    "JoinGroup", JoinGroupRequest, JoinGroupResponse, _write_join, _read_join, _write_joined, _read_joined
)
SYNC_GROUP = Conversion(
    "SyncGroup", SyncGroupRequest, SyncGroupResponse, _write_sync, _read_sync, _write_synced, _read_synced
)
HEARTBEAT = Conversion(
    "Heartbeat",
    HeartbeatRequest,
    HeartbeatResponse,
    _write_heartbeat,
    _read_heartbeat,
    lambda response, context: {"error_code": response.error},
    lambda node, context: HeartbeatResponse(node.error()),
)
LEAVE_GROUP = Conversion(
    "LeaveGroup", LeaveGroupRequest, LeaveGroupResponse, _write_leave, _read_leave, _write_left, _read_left
)
